// Goal: each of several concurrent operations, on one store or on two that share their ports, seems to happen at one
// moment: some order of them explains all answers and the final content (linearizability, by the search of Wing and
// Gong).
// Method: fast-check's scheduler decides which step on the ports comes next.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { endHangs } from '../../support/hang-watch.js'
import { recordedSeeds, report, sizeOf, suiteSeed } from '../../support/ladder.js'
import { Pairs } from '../../support/pairs.js'
import { anySwarm } from '../../support/swarm.js'
import {
  BACKGROUND,
  type BackgroundRace,
  type LongOperation,
  runBackgroundRace,
  WRITERS_MAX,
} from './background-race.js'
import { type DeletionRace, type NewThing, runDeletionRace } from './deletion-race.js'
import { type EnsureRace, runEnsureRace } from './ensure-race.js'
import { type KeyPast, type Race, type RaceSpec, runRace } from './race.js'
import {
  runTransactionRace,
  type TransactionRace,
  type TransactionSpec,
} from './transaction-race.js'

type What = RaceSpec['what']

const ANY: readonly What[] = [
  'add',
  'add stash',
  'overwrite',
  'overwrite if',
  'update',
  'update if',
  'delete',
  'read',
  'read',
]

/** Reads that find rows, count them or follow the log, concurrent with changes of them. */
const OF_READS: readonly What[] = [
  ...(['search', 'search', 'groups', 'groups', 'log', 'log'] as const),
  ...(['add', 'overwrite', 'update', 'update', 'delete', 'add stash'] as const),
]

/** Changes of a table whose segments, which a stash names too, are swapped meanwhile. */
const BESIDE_SETTLE: readonly What[] = [
  ...(['add', 'add stash', 'add stash', 'overwrite', 'overwrite if', 'update'] as const),
  ...(['update if', 'delete', 'read', 'recompression'] as const),
]

/** Uses of a stash whose segments are swapped meanwhile. */
const OF_STASHES: readonly What[] = [
  'add stash',
  'add stash',
  'recompression',
  'recompression',
  'update',
  'read',
]

/** Operations that conflict in a key, and some others. */
const OF_KEYS: readonly What[] = [
  ...(['add twin', 'add twin', 'take text', 'take text', 'get by key', 'get by key'] as const),
  ...(['give key', 'give key', 'take key', 'add stash', 'overwrite', 'delete', 'read'] as const),
]

/** A text sent for a key of numbers, and concurrent changes of the key. */
const OF_NUMBERS: readonly What[] = [
  ...(['retype', 'retype', 'retype', 'give key', 'take key', 'add', 'delete', 'read'] as const),
]

function anySpecOf(whats: readonly What[]): fc.Arbitrary<RaceSpec> {
  return fc
    .record({ at: fc.nat({ max: 1 }), what: fc.constantFrom(...whats), row: fc.nat({ max: 5 }) })
    .map((spec) => ({ ...spec, at: spec.at === 0 ? 0 : 1 }))
}

type Kind = Readonly<{ whats: readonly What[]; keys: readonly Race['key'][]; settles?: boolean }>

const PLAIN: Kind = { whats: ANY, keys: [null] }
const READ: Kind = { whats: OF_READS, keys: [null] }
const STAGED: Kind = { whats: OF_STASHES, keys: [null] }
const SETTLED: Kind = { whats: BESIDE_SETTLE, keys: [null], settles: true }
const KEYED: Kind = { whats: OF_KEYS, keys: ['v', 'v', null] }
const NUMBERED: Kind = { whats: OF_NUMBERS, keys: ['n'] }

/** Everything beside everything. */
const MIXED_WHATS = [...ANY, ...OF_READS, ...BESIDE_SETTLE, ...OF_KEYS]
const MIXED: Kind = { whats: MIXED_WHATS, keys: [null, 'v'] }
const MIXED_SETTLED: Kind = { whats: MIXED_WHATS, keys: [null], settles: true }
const MIXED_NUMBERED: Kind = { whats: [...MIXED_WHATS, 'retype'], keys: ['n'] }

const ALL_KINDS = [
  ...[PLAIN, READ, KEYED, STAGED, SETTLED, NUMBERED],
  ...[MIXED, MIXED, MIXED, MIXED, MIXED_SETTLED, MIXED_SETTLED],
  ...Array<Kind>(6).fill(MIXED_NUMBERED),
]

function anyRace(checks: boolean, { whats, keys, settles = false }: Kind): fc.Arbitrary<Race> {
  const specs = anySwarm(whats).chain((used) =>
    fc.array(anySpecOf(used), { minLength: 3, maxLength: 6, size: 'max' }),
  )
  return fc.record({
    specs,
    key: fc.constantFrom(...keys),
    options: fc.record({
      inlineRowsMax: fc.constantFrom(0, 1_000),
      cacheBytesMax: fc.constantFrom(0, 16_777_216),
    }),
    settles: fc.constant(settles),
    checks: fc.constant(checks),
  })
}

const anyPast: fc.Arbitrary<KeyPast> = fc.record({
  before: fc.constantFrom('nothing', 'nothing', 'deleted', 'changed', 'empty'),
  doubles: fc.constantFrom(false, false, false, true),
  transacts: fc.constantFrom(false, false, true),
})

/** What was under way together in the races of this file. */
const racePairs = new Pairs([...MIXED_WHATS, 'retype'])

/** Takes a turn of the event loop after each step: background work waits for some. */
async function act(step: () => Promise<void>): Promise<void> {
  await step()
  await new Promise<void>((done) => setImmediate(done))
}

async function race(numRuns: number, seed: number, checks: boolean, kinds: readonly Kind[]) {
  const races = fc.oneof(...kinds.map((kind) => anyRace(checks, kind)))
  // What is drawn last does not affect the others.
  const property = fc.asyncProperty(races, fc.scheduler({ act }), anyPast, (one, scheduler, past) =>
    runRace(one, scheduler, past, racePairs.run()),
  )
  return fc.check(property, { numRuns, seed, endOnFailure: true, plugins: [endHangs(seed)] })
}

test('operations at once are those of some order', { timeout: 3_600_000 }, async () => {
  const [runs, seed] = [sizeOf({ push: 600, deep: 100_000 }), suiteSeed()]
  const startedAt = performance.now()
  for (const again of recordedSeeds('T3')) {
    const known = await race(again.runs, again.seed, true, ALL_KINDS)
    expect(known.failed ? fc.defaultReportMessage(known) : '').toBe('')
  }
  const done = await race(runs, seed, true, ALL_KINDS)
  const seconds = (performance.now() - startedAt) / 1_000
  const violations = done.failed ? 1 : 0
  report({ suite: 'T3 races', seed, runs, seconds, violations, pairs: racePairs.counts() })

  expect(done.failed ? fc.defaultReportMessage(done) : '').toBe('')
})

test.each([
  ['a lost update', 10, PLAIN],
  ['a key that two rows have', 20, KEYED],
  ['rows that a recompression took back', 20, SETTLED],
])('%s, as of commits without their checks, is found within %i races', async (_, races, kind) => {
  const done = await race(races, 1, false, [kind])

  expect(done.failed).toBe(true)
  expect(String(done.errorInstance)).toMatch(/In no order|must be/)
})

const anyTransaction: fc.Arbitrary<TransactionSpec> = fc.record({
  at: fc.nat({ max: 1 }),
  steps: fc.array(
    fc.record({
      what: fc.constantFrom(
        ...(['get', 'page', 'version', 'update', 'update both', 'add', 'delete'] as const),
      ),
      table: fc.nat({ max: 1 }),
      row: fc.nat({ max: 1 }),
    }),
    { minLength: 1, maxLength: 4, size: 'max' },
  ),
  form: fc.constantFrom('whole', 'whole', 'whole', 'single', 'fails'),
})

function anyTransactionRace(checks: boolean): fc.Arbitrary<TransactionRace> {
  return fc.record({
    specs: fc.array(anyTransaction, { minLength: 2, maxLength: 5, size: 'max' }),
    inlineRowsMax: fc.constantFrom(0, 1_000),
    crashAfter: fc.option(fc.nat({ max: 60 }), { freq: 2 }),
    checks: fc.constant(checks),
  })
}

async function raceTransactions(numRuns: number, seed: number, checks: boolean) {
  const property = fc.asyncProperty(
    anyTransactionRace(checks),
    fc.scheduler({ act }),
    runTransactionRace,
  )
  return fc.check(property, { numRuns, seed, endOnFailure: true, plugins: [endHangs(seed)] })
}

test('transactions at once are serializable, also before a crash', {
  timeout: 3_600_000,
}, async () => {
  const [runs, seed] = [sizeOf({ push: 150, deep: 20_000 }), suiteSeed()]
  const startedAt = performance.now()
  const done = await raceTransactions(runs, seed, true)
  const seconds = (performance.now() - startedAt) / 1_000
  report({ suite: 'T3 transactions', seed, runs, seconds, violations: done.failed ? 1 : 0 })

  expect(done.failed ? fc.defaultReportMessage(done) : '').toBe('')
})

test('transactions whose commits have lost their checks are found within 20 races', async () => {
  const done = await raceTransactions(20, 1, false)

  expect(done.failed).toBe(true)
  expect(String(done.errorInstance)).toMatch(/In no order/)
})

function anyEnsureRace(checks: boolean): fc.Arbitrary<EnsureRace> {
  return fc.record({
    callers: fc.array(
      fc.record({ at: fc.nat({ max: 1 }), column: fc.constantFrom('a', 'b', 'c') }),
      { minLength: 2, maxLength: 5, size: 'max' },
    ),
    isThere: fc.constantFrom(false, false, true),
    crashAfter: fc.option(fc.nat({ max: 80 }), { freq: 2 }),
    checks: fc.constant(checks),
  })
}

async function raceToEnsure(numRuns: number, seed: number, checks: boolean) {
  const property = fc.asyncProperty(anyEnsureRace(checks), fc.scheduler({ act }), runEnsureRace)
  return fc.check(property, { numRuns, seed, endOnFailure: true, plugins: [endHangs(seed)] })
}

test('callers who make sure of a table at once get one, also before a crash', {
  timeout: 3_600_000,
}, async () => {
  const [runs, seed] = [sizeOf({ push: 200, deep: 10_000 }), suiteSeed()]
  const startedAt = performance.now()
  const done = await raceToEnsure(runs, seed, true)
  const seconds = (performance.now() - startedAt) / 1_000
  report({ suite: 'T3 ensured tables', seed, runs, seconds, violations: done.failed ? 1 : 0 })

  expect(done.failed ? `${done.errorInstance}\n${fc.defaultReportMessage(done)}` : '').toBe('')
})

test('two tables, as of commits without their checks, are found within 20 races', async () => {
  const done = await raceToEnsure(20, 1, false)

  expect(done.failed).toBe(true)
  expect(String(done.errorInstance)).toMatch(/Told|is damaged/)
})

/** Operations on a table and on a stash that are deleted meanwhile. */
const OF_DELETED: readonly What[] = ['add', 'add stash', 'overwrite', 'update', 'delete', 'read']

const anyThing: fc.Arbitrary<NewThing> = fc.record({
  at: fc.constantFrom(0, 1),
  after: fc.nat({ max: 150 }),
  makes: fc.constantFrom('table', 'table', 'chunk', 'file', 'upload', 'job'),
})

const anyDeletionRace: fc.Arbitrary<DeletionRace> = fc.record({
  specs: fc.array(anySpecOf(OF_DELETED), { maxLength: 3, size: 'max' }),
  things: fc.array(anyThing, { maxLength: 3, size: 'max' }),
  deletes: fc.constantFrom([0], [1], [0, 1], [1, 1]),
  deletesAfter: fc.nat({ max: 30 }),
  onlyImports: fc.constantFrom(false, false, false, true),
  options: fc.record({ inlineRowsMax: fc.constantFrom(0, 1_000) }),
})

test('what is there when everything is deleted is gone, and what comes meanwhile is whole or gone', {
  timeout: 3_600_000,
}, async () => {
  const [runs, seed] = [sizeOf({ push: 200, deep: 10_000 }), suiteSeed()]
  const startedAt = performance.now()
  const property = fc.asyncProperty(anyDeletionRace, fc.scheduler({ act }), runDeletionRace)
  const plugins = [endHangs(seed)]
  const done = await fc.check(property, { numRuns: runs, seed, endOnFailure: true, plugins })
  const seconds = (performance.now() - startedAt) / 1_000
  report({ suite: 'T3 deletions', seed, runs, seconds, violations: done.failed ? 1 : 0 })

  expect(done.failed ? `${done.errorInstance}\n${fc.defaultReportMessage(done)}` : '').toBe('')
})

const LONG: readonly LongOperation['what'][] = [
  ...(['rows by id', 'rows by key', 'pages', 'scan', 'find', 'count', 'export'] as const),
  ...(['sorted page', 'sorted page', 'search', 'groups', 'log'] as const),
  ...(['past rows', 'changes', 'receipt', 'preflight', 'dry merge', 'verify', 'backup'] as const),
  ...(['transaction', 'transaction', 'transaction', 'transaction'] as const),
  ...(['merge', 'delete where', 'update', 'add stash', 'give key', 'job', 'overwrite'] as const),
]

const backgroundPairs = new Pairs(LONG, BACKGROUND)

const anyLongOperations = anySwarm(LONG).chain((used) =>
  fc.array(
    fc.record({
      at: fc.constantFrom(0, 1),
      what: fc.constantFrom(...used),
      steps: fc.array(fc.constantFrom('add', 'add', 'take', 'update', 'delete', 'read', 'scan'), {
        minLength: 1,
        maxLength: 5,
        size: 'max',
      }),
    }),
    { minLength: 3, maxLength: WRITERS_MAX, size: 'max' },
  ),
)

const anyBackgroundRace: fc.Arbitrary<BackgroundRace> = fc.record({
  operations: anyLongOperations,
  background: fc.array(
    fc.record({
      at: fc.constantFrom(0, 1),
      what: fc.constantFrom(...BACKGROUND, ...BACKGROUND, 'garbageCollection', 'garbageCollection'),
      after: fc.oneof(fc.constant(0), fc.nat({ max: 60 })),
    }),
    { minLength: 1, maxLength: 6, size: 'max' },
  ),
  objectTurns: fc.constantFrom(0, 100, 1_000),
  cacheBytesMax: fc.constantFrom(0, 0, 16_777_216),
  hasKey: fc.boolean(),
  isOpen: fc.boolean(),
  isMaintained: fc.constantFrom(false, false, false, true),
})

test('no long operation sees the background, and none is disturbed by it', {
  timeout: 3_600_000,
}, async () => {
  const [runs, seed] = [sizeOf({ push: 150, deep: 50_000 }), suiteSeed()]
  const startedAt = performance.now()
  const property = fc.asyncProperty(anyBackgroundRace, fc.scheduler({ act }), (one, scheduler) =>
    runBackgroundRace(one, scheduler, backgroundPairs.run()),
  )
  const plugins = [endHangs(seed)]
  const done = await fc.check(property, { numRuns: runs, seed, endOnFailure: true, plugins })
  const seconds = (performance.now() - startedAt) / 1_000
  const [violations, pairs] = [done.failed ? 1 : 0, backgroundPairs.counts()]
  report({ suite: 'T3 background', seed, runs, seconds, violations, pairs })

  expect(done.failed ? `${done.errorInstance}\n${fc.defaultReportMessage(done)}` : '').toBe('')
})
