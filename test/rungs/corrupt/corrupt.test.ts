// Goal: damage is never served and never hides anything: a damaged store refuses to open, or each read gives the right
// answer or an error; and a full verify finds every flipped bit on which anything depends.
// Method: one file of a store is damaged, and every query is made. The same is done to a plain LevelDB database. Files
// are also misplaced, and the store is opened in another process, which must survive.
import {
  appendFile,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDirectory } from '../../../adapters/node.js'
import { isStoreError, type Store, type Team } from '../../../src/index.js'
import { testClock } from '../../conformance/test-clock.js'
import { report, sizeOf, suiteSeed } from '../../support/ladder.js'
import { joinedMaintenance } from '../../support/maintenance.js'
import {
  type Answers,
  askEverything,
  type Known,
  knownOf,
  wrongAnswers,
} from '../../support/read-everything.js'
import { fillRichly, RICH_SIZES } from '../../support/rich-store.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { runsAll } from '../../support/what-runs.js'
import { type DamagedAnswer, DamagedStores } from '../crash/damaged-store-process.js'
import { type BuiltPrograms, buildPrograms } from '../crash/writer-process.js'
import { SETTLES } from '../sim/world.js'
import { DAMAGES, damageFile, type FileKind, filesByKind } from './corruption.js'
import { baselineFlip, baselineTrial, makeBaseline } from './corruption-baseline.js'
import { misplace, plainFiles } from './misplaced-files.js'

let folder: string
let right: Answers
let known: Known
let kinds: Map<FileKind, string[]>
/** The kinds of files in an older copy of the store. */
let olderKinds: Map<FileKind, string[]>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-t10-'))
  const [directory, older] = [join(folder, 'store'), join(folder, 'older')]
  const clock = testClock()
  const store = await openDirectory(directory, { ...RICH_SIZES, clock })
  await fillRichly(store, clock)
  await store.close()
  await cp(directory, older, { recursive: true })
  const again = await openDirectory(directory, {
    ...RICH_SIZES,
    ...SETTLES,
    maintenance: joinedMaintenance(RICH_SIZES.maintenance, SETTLES.maintenance),
    clock,
  })
  const files = await changeMore(again)
  await again.close()
  const last = await openDirectory(directory, { ...RICH_SIZES, clock })
  await last.team('acme').createTable({ name: 'last', rows: [{ n: 1 }] }) // in the log, while the rest is in tables
  known = await knownOf(last, files)
  right = await askEverything(last, known)
  await last.close()
  kinds = await filesByKind(directory)
  olderKinds = await filesByKind(older)
})

afterAll(() => rm(folder, { recursive: true }))

/** Chunks that arrive together, and so share an object. */
const CHUNKS = 6

async function changeMore(store: Store): Promise<Known['files']> {
  const team = store.team('acme')
  await makeShared(team)
  expect((await store.maintain()).recompressed).toBeGreaterThan(CHUNKS)
  for (let runs = 0; runs < 2; runs++) await store.maintain() // delete the old objects, which nothing needs
  for (const { id } of (await team.tables()).slice(0, 2)) {
    const table = team.table(id)
    const { rows } = await table.page({ limit: 3 })
    for (const { $rowID } of rows) await table.updateRow($rowID, { n: 12_345 })
  }
  const about = { fileName: 'f.txt', contentType: 'text/plain' }
  const texts = ['a short file', Array.from({ length: 20_000 }, (_, n) => n).join(' ')]
  const stored = await Promise.all(texts.map((text) => team.files.put(text, about)))
  return stored.map(({ id, bytes }) => ({ team: 'acme', id, bytes }))
}

/** A table, and chunks that only a stash names. */
async function makeShared(team: Team): Promise<void> {
  const shared = team.stash('shared')
  const objects = async (): Promise<number> =>
    (await filesByKind(join(folder, 'store'))).get('object')?.length ?? 0
  const before = await objects()
  const puts = Array.from({ length: CHUNKS }, (_, chunk) => {
    const rows = Array.from({ length: 40 }, (_, n) => ({ n, text: `row ${n} of chunk ${chunk}` }))
    return shared.put(String(chunk), rows)
  })
  await Promise.all(puts)
  expect((await objects()) - before).toBeLessThan(CHUNKS)
  await team.createTable({ name: 'shared', rows: shared })
}

type Outcome = Readonly<{
  kind: FileKind
  how: 'same' | 'refused' | 'opened'
  problem: string | null
}>

/** The store and its copy share the objects, which an opening never changes. Damaged ones are restored. */
async function trial(index: number, random: Seeded): Promise<Outcome> {
  const kind = random.pick([...kinds.keys()])
  const path = random.pick(kinds.get(kind) ?? [])
  const damage = random.pick(DAMAGES)
  const place = join(folder, `trial-${index}`)
  await mkdir(place)
  for (const part of ['kv', 'FORMAT', 'HIGHWATER']) {
    await cp(join(folder, 'store', part), join(place, part), { recursive: true })
  }
  if (kind === 'object') {
    await cp(join(folder, 'store', 'objects'), join(place, 'objects'), { recursive: true })
  } else {
    await symlink(join(folder, 'store', 'objects'), join(place, 'objects'))
  }
  const older = (olderKinds.get(kind) ?? []).map((name) => join(folder, 'older', name))
  const done = await damageFile(place, path, damage, random, older)
  try {
    if (done === null) return { kind, how: 'same', problem: null }
    const flips = damage === 'bit' || damage === 'byte' || damage === 'zeros'
    return { kind, ...(await judge(place, flips && mustBeFound(path), done)) }
  } finally {
    await rm(place, { recursive: true })
  }
}

/**
 * Whether anything depends on every byte of a file. The number in the high-water file is used only when it exceeds the
 * others, and the line of FORMAT that names the creating version is for people.
 */
function mustBeFound(path: string): boolean {
  return path !== 'HIGHWATER' && path !== 'FORMAT'
}

const REFUSALS: ReadonlySet<string> = new Set([
  'DATA_CORRUPT',
  'DATA_LOSS',
  'FORMAT_UNKNOWN',
  'STORAGE_UNAVAILABLE',
])

async function judge(
  place: string,
  isFound: boolean,
  done: string,
): Promise<Pick<Outcome, 'how' | 'problem'>> {
  let store: Store
  try {
    store = await openDirectory(place, { ...RICH_SIZES, clock: testClock() })
  } catch (failure) {
    const isHonest = isStoreError(failure) && REFUSALS.has(failure.code)
    return { how: 'refused', problem: isHonest ? null : `${done}: ${String(failure)}` }
  }
  try {
    const [wrong] = wrongAnswers(right, await askEverything(store, known))
    if (wrong !== undefined) return { how: 'opened', problem: `${done}: ${wrong}` }
    const { ok } = await store.verify({ full: true })
    const problem = isFound && ok ? `${done}: a full verify finds nothing` : null
    return { how: 'opened', problem }
  } finally {
    await store.close()
  }
}

test('damage is never served and hides nothing', { timeout: 3_600_000 }, async () => {
  const [runs, seed] = [sizeOf({ push: 300, deep: 3_000 }), suiteSeed()]
  const startedAt = performance.now()
  const violations: string[] = []
  const tally = new Map<string, number>()
  for (let run = 0; run < runs; run++) {
    const { kind, how, problem } = await trial(run, seeded(seed + run))
    if (problem !== null) violations.push(`seed ${seed + run}: ${problem}`)
    tally.set(`${kind} ${how}`, (tally.get(`${kind} ${how}`) ?? 0) + 1)
  }
  const seconds = (performance.now() - startedAt) / 1_000
  report({ suite: 'T10 corruption', seed, runs, seconds, violations: violations.length })

  expect(violations).toEqual([])
  expect([...kinds.keys()].sort()).toEqual([
    'current',
    'format',
    'highWater',
    'ldb',
    'log',
    'manifest',
    'object',
  ])
  expect(await readdir(folder)).not.toContain('trial-0')
})

/** Copies a store without its objects, which it shares, because an opening never changes them. */
async function copyStore(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const part of ['kv', 'FORMAT', 'HIGHWATER']) {
    await cp(join(from, part), join(to, part), { recursive: true })
  }
  await symlink(join(from, 'objects'), join(to, 'objects'))
}

/** The size of the blocks of LevelDB's logs. */
const LOG_BLOCK_BYTES = 32 * 1024

describe('files where they do not belong', () => {
  let programs: BuiltPrograms
  let stores: DamagedStores
  let places = ''

  beforeAll(async () => {
    programs = await buildPrograms(['damaged-store'], { smallBuffers: true })
    stores = new DamagedStores(programs.path('damaged-store'))
    places = join(folder, 'misplaced')
    await mkdir(places)
    await stores.make(places)
  })

  afterAll(async () => {
    stores.end()
    await programs.remove()
  })

  async function judged(
    of: 'written' | 'rested',
    misplacing: (place: string) => Promise<string>,
    how: Readonly<{ times?: number; acceptLoss?: boolean }> = {},
  ): Promise<DamagedAnswer & Readonly<{ done: string }>> {
    const place = join(places, 'trial')
    await copyStore(join(places, of), place)
    try {
      const done = await misplacing(place)
      return { done, ...(await stores.judge({ judge: place, ...how })) }
    } finally {
      await rm(place, { recursive: true })
    }
  }

  async function fileOf(place: string, kind: FileKind): Promise<string> {
    const [path = ''] = (await filesByKind(place)).get(kind) ?? []
    return join(place, path)
  }

  const CASES: readonly (readonly [
    what: string,
    code: string,
    of: 'written' | 'rested',
    act: (place: string) => Promise<void>,
  ])[] = [
    [
      'the bytes of the manifest in the log',
      'DATA_CORRUPT',
      'written',
      async (place) => copyFile(await fileOf(place, 'manifest'), await fileOf(place, 'log')),
    ],
    [
      'a log that was appended to itself behind a gap',
      'DATA_LOSS',
      'written',
      async (place) => {
        const log = await fileOf(place, 'log')
        const bytes = await readFile(log)
        // The first record of a block may look cut, like an unfinished write: then the whole block is dropped.
        const gap = LOG_BLOCK_BYTES - (bytes.length % LOG_BLOCK_BYTES)
        await appendFile(log, Buffer.concat([Buffer.alloc(gap), bytes]))
      },
    ],
    [
      'an old log with a higher number',
      'DATA_CORRUPT',
      'rested',
      async (place) => {
        const old = await fileOf(join(places, 'older'), 'log')
        await copyFile(old, join(place, 'kv', '000999.log'))
      },
    ],
    [
      'an old log in the place of an empty one',
      'DATA_LOSS',
      'rested',
      async (place) =>
        copyFile(await fileOf(join(places, 'older'), 'log'), await fileOf(place, 'log')),
    ],
    [
      'a log without its first block',
      'DATA_LOSS',
      'written',
      async (place) => {
        const log = await fileOf(place, 'log')
        await writeFile(log, (await readFile(log)).subarray(32_768))
      },
    ],
    [
      'a log with the number 0',
      'DATA_CORRUPT',
      'written',
      (place) => writeFile(join(place, 'kv', '000000.log'), ''),
    ],
    [
      'a log with the highest number',
      'DATA_CORRUPT',
      'written',
      (place) => writeFile(join(place, 'kv', `${2n ** 64n - 1n}.log`), ''),
    ],
    [
      'a manifest with that of an older copy behind it',
      'DATA_CORRUPT',
      'written',
      async (place) => {
        const old = await readFile(await fileOf(join(places, 'older'), 'manifest'))
        await appendFile(await fileOf(place, 'manifest'), old)
      },
    ],
    [
      'a log as the manifest that CURRENT names',
      'DATA_CORRUPT',
      'written',
      async (place) => {
        const log = basename(await fileOf(place, 'log'))
        await writeFile(join(place, 'kv', 'CURRENT'), `${log}\n`)
      },
    ],
    [
      'no manifest of the name in CURRENT',
      'DATA_LOSS',
      'written',
      (place) => writeFile(join(place, 'kv', 'CURRENT'), 'MANIFEST-999999\n'),
    ],
  ]

  test.each(CASES)('%s: %s', async (what, code, of, act) => {
    const answer = await judged(of, async (place) => {
      await act(place)
      return what
    })

    expect(answer).toEqual({ done: what, how: 'refused', code, problem: null })
    // Accepting the loss does not end the process either.
    const accepted = await judged(of, () => act(join(places, 'trial')).then(() => what), {
      acceptLoss: true,
    })
    expect(accepted).toMatchObject({ problem: null })
  })

  test('whatever they are, they never end the process, and bring nothing back', {
    timeout: 3_600_000,
  }, async () => {
    const [runs, seed] = [sizeOf({ push: 300, deep: 3_000 }), suiteSeed()]
    const startedAt = performance.now()
    const violations: string[] = []
    const tally = { made: 0, refused: 0, opened: 0, ended: 0 }
    const sources = await Promise.all(
      ['written', 'rested', 'older', 'other'].map(async (from) => {
        const files = await plainFiles(join(places, from))
        return files.map((file) => ({ path: join(places, from, file), from: `${file} of ${from}` }))
      }),
    )
    for (let run = 0; run < runs; run++) {
      const random = seeded(seed + run)
      const of = random.pick(['written', 'rested'] as const)
      const misplacing = (place: string) => misplace(place, sources.flat(), random)
      const options = { times: random.once(4) ? 2 : 1, acceptLoss: random.once(4) }
      const { done, how, problem } = await judged(of, misplacing, options)
      tally[how]++
      const told = `seed ${seed + run}: ${done}, ${JSON.stringify(options)}`
      if (problem !== null) violations.push(`${told}: ${problem}`)
    }
    const seconds = (performance.now() - startedAt) / 1_000
    const suite = `T10 misplaced files, ${tally.refused} refused, ${tally.ended} ended the process`
    report({ suite, seed, runs, seconds, violations: violations.length })

    expect(violations).toEqual([])
    expect(tally.opened).toBeGreaterThan(0)
  })
})

test.runIf(runsAll)(
  'a flipped bit in a table is mostly served by a plain LevelDB database',
  {
    timeout: 3_600_000,
  },
  async () => {
    const [runs, seed] = [sizeOf({ push: 20, deep: 60 }), suiteSeed()]
    const startedAt = performance.now()
    await makeBaseline(join(folder, 'plain-tables'))
    const tally = { silent: 0, told: 0, harmless: 0 }
    for (let run = 0; run < runs; run++) {
      tally[await baselineFlip(join(folder, 'plain-tables'), seeded(seed + run))]++
    }
    const seconds = (performance.now() - startedAt) / 1_000
    const what = `silently wrong in ${tally.silent}, told ${tally.told}`
    report({
      suite: `T10 baseline: plain LevelDB, one bit of a table of incompressible data, ${what}`,
      seed,
      runs,
      seconds,
      violations: 0,
    })

    expect(tally.silent).toBeGreaterThan(runs / 2)
  },
)

test.runIf(runsAll)(
  'the same damage is mostly served by a plain LevelDB database',
  {
    timeout: 3_600_000,
  },
  async () => {
    const [runs, seed] = [sizeOf({ push: 20, deep: 600 }), suiteSeed()]
    const startedAt = performance.now()
    await makeBaseline(join(folder, 'plain'))
    const tally = { silent: 0, told: 0, harmless: 0 }
    for (let run = 0; run < runs; run++) {
      tally[await baselineTrial(join(folder, 'plain'), seeded(seed + run))]++
    }
    const seconds = (performance.now() - startedAt) / 1_000
    const suite = `T10 baseline: plain LevelDB, silently wrong in ${tally.silent}, told ${tally.told}`
    report({ suite, seed, runs, seconds, violations: 0 })

    expect(tally.silent + tally.told + tally.harmless).toBe(runs)
  },
)
