// The end of a directory's life: when everything was deleted, nothing may remain.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openDirectoryPorts } from '../../../adapters/directory/directory.js'
import { openDirectory } from '../../../adapters/open-directory.js'
import { KEY_SPACE } from '../../../src/format/keys.js'
import type { Store, Team } from '../../../src/index.js'
import type { Clock, KvStore, ObjectStore } from '../../../src/ports.js'
import { describe } from './audit.js'
import { TEAM } from './lane.js'
import type { Ledger } from './ledger.js'
import { SMALL_SIZES } from './writer-job.js'

const DAY_MS = 86_400_000
const RUNS_MAX = 10
const RECORDS_MAX = 100_000

/** Bytes of the key of a duty's last scan: its space and the duty. Keys of hints are longer. */
const LAST_SCAN_KEY_BYTES = 2

/** Records that stay as long as there is a table, or has been a file. */
const LASTING_SPACES: ReadonlySet<number> = new Set([
  KEY_SPACE.teamHead,
  KEY_SPACE.catalog,
  KEY_SPACE.tableHead,
  KEY_SPACE.schema,
  KEY_SPACE.row,
  KEY_SPACE.extentPage,
  KEY_SPACE.filesHead,
])

type Remains = Readonly<{
  /** Names of objects, and of other files in their folder. */
  objects: readonly string[]
  /** The keys of the team's records. */
  keys: readonly Uint8Array[]
}>

/** The place of the data. */
export type Place = Readonly<{
  /** Opens the store with `SMALL_SIZES` and a clock. */
  open(clock: Clock): Promise<Store>
  /** What remains while the store is closed. */
  remains(): Promise<Remains>
}>

/** Finds leaks in a directory. */
export function findLeaks(directory: string, ledger: Ledger): Promise<string[]> {
  const place: Place = {
    open: (clock) => openDirectory(directory, { ...SMALL_SIZES, clock }),
    async remains() {
      const ports = await openDirectoryPorts(directory)
      try {
        const objects = await readdir(join(directory, 'objects'), { recursive: true })
        return { objects, keys: await keysOf(ports.kv) }
      } finally {
        await ports.close()
      }
    },
  }
  return findLeaksIn(place, ledger)
}

/**
 * Lets every lifetime pass, then empties the tables. Files that rows name must stay until then. Afterwards no object,
 * and no record of a stash, a file or an old generation, may be there. The audit came before.
 */
export async function findLeaksIn(place: Place, ledger: Ledger): Promise<string[]> {
  const wrong: string[] = []
  try {
    let now = Date.now() + 60 * DAY_MS
    const store = await place.open({ now: () => now })
    try {
      await maintainAll(store)
      await checkFiles(store.team(TEAM), ledger, wrong)
      for (const { id } of await store.team(TEAM).tables()) {
        await store
          .team(TEAM)
          .table(id)
          .overwrite({ rows: [{ k: 'last' }] })
      }
      now += 60 * DAY_MS
      await maintainAll(store)
    } finally {
      await store.close()
    }
    checkRemains(await place.remains(), wrong)
  } catch (failure) {
    wrong.push(describe(failure))
  }
  return wrong
}

/**
 * The content of shared ports after all processes have closed the store.
 * @param openStore - Opens the store on the ports of `openPorts`.
 */
export async function sharedRemains(
  openPorts: () => Promise<Readonly<{ kv: KvStore; objects: ObjectStore; close(): Promise<void> }>>,
  openStore: () => Promise<Store>,
): Promise<Remains> {
  const ended = await openStore()
  await ended.maintain() // ends the incarnation that was closed before
  await ended.close()
  const { kv, objects, close } = await openPorts()
  const left = { objects: await objects.list(''), keys: await keysOf(kv) }
  await close()
  return left
}

/** The keys of the team's records. */
async function keysOf(kv: KvStore): Promise<Uint8Array[]> {
  const all = { start: new Uint8Array(0), limit: Uint8Array.of(0xff), count: RECORDS_MAX }
  const records = await kv.partition(TEAM).read((view) => view.scan(all))
  return records.map(([key]) => key)
}

async function maintainAll(store: Store): Promise<void> {
  for (let runs = 0; runs < RUNS_MAX; runs++) {
    const report = Object.values(await store.maintain()).reduce((sum, count) => sum + count)
    if (runs > 1 && report === 0) return
  }
  throw new Error(`There is still something to do after ${RUNS_MAX} garbage collections`)
}

/** A file that rows name exists; a file that none names does not. */
async function checkFiles(team: Team, ledger: Ledger, wrong: string[]): Promise<void> {
  const named = new Set<string>()
  for (const [state] of ledger.tables.values()) {
    for (const { f } of state?.rows ?? []) if (f !== null) named.add(f)
  }
  for (const [id, { tag }] of ledger.files) {
    const isNamed = [...named].some((path) => path.includes(id))
    const isThere = (await team.files.stat(id)) !== null
    if (isNamed && !isThere) wrong.push(`file ${tag} is gone, and a row names it`)
    if (!isNamed && isThere) wrong.push(`file ${tag} is there, and no row has named it for 60 days`)
  }
}

function checkRemains({ objects, keys: all }: Remains, wrong: string[]): void {
  // Logs are kept for 24 hours.
  const keys = all.filter((key) => !isOfDuty(key) && key[0] !== KEY_SPACE.log)
  for (const name of objects) wrong.push(`${name} is left among the objects`)
  const lasting = keys.filter((key) => LASTING_SPACES.has(key[0] ?? 0))
  const other = keys.filter((key) => !LASTING_SPACES.has(key[0] ?? 0))
  const names = Object.entries(KEY_SPACE)
  for (const key of other) {
    const space = names.find(([, number]) => number === key[0])?.[0]
    wrong.push(`a record of the space ${space ?? key[0]} is left`)
  }
  const ofTables = keys.filter((key) => key[0] === KEY_SPACE.tableHead).length
  const perTable = lasting.length / Math.max(1, ofTables)
  if (perTable > RECORDS_OF_TABLE_MAX) wrong.push(`${perTable} records for each table are left`)
}

/** A lease, or the last scan of a duty: both stay on a shared store. */
function isOfDuty(key: Uint8Array): boolean {
  const isLastScan = key[0] === KEY_SPACE.workHint && key.length === LAST_SCAN_KEY_BYTES
  return key[0] === KEY_SPACE.duty || isLastScan
}

/** Catalog entry, head, schema, row, extent page, and the share of two heads. */
const RECORDS_OF_TABLE_MAX = 6
