// Opens a store whose writer died, and compares it with the ledger made of the writer's log.

import { openDirectory } from '../../../adapters/open-directory.js'
import type { VerifySeverity } from '../../../src/engine/types/verify-types.js'
import type { Store, Team } from '../../../src/index.js'
import { isStoreError } from '../../../src/index.js'
import { TEAM } from './lane.js'
import type { LaneTeam } from './lane-store.js'
import { type Ledger, type TableState, versionsOf } from './ledger.js'
import { COUNTER_TABLE, SHARED_TABLE } from './log-lines.js'
import { type ExpectedRow, expectedRows, fillerBytes, fillerText } from './rows.js'
import { SMALL_SIZES } from './writer-job.js'

/** Stashes that are used, to see their content. The others are deleted. */
const STASHES_USED = 2

/**
 * Opens, checks, collects garbage and closes. Afterwards the ledger knows which of the possible states was the real
 * one.
 * @returns what is wrong, in words; empty: nothing
 */
export function audit(directory: string, ledger: Ledger): Promise<string[]> {
  return auditStore(() => openDirectory(directory, SMALL_SIZES), ledger)
}

/** Audits a store. @param open - Opens the store, with `SMALL_SIZES`. */
export async function auditStore(open: () => Promise<Store>, ledger: Ledger): Promise<string[]> {
  const wrong: string[] = [...ledger.violations.splice(0)]
  try {
    const store = await open()
    try {
      await verify(store, 'damage', wrong)
      await auditTables(store.team(TEAM), ledger, wrong)
      await auditFiles(store.team(TEAM), ledger, wrong)
      await auditStashes(store.team(TEAM), ledger, wrong)
      await store.maintain() // This one marks what nothing names,
      await store.maintain() // and this one deletes it.
      await verify(store, 'information', wrong)
    } finally {
      await store.close()
    }
  } catch (failure) {
    wrong.push(describe(failure))
  }
  return wrong
}

/** @param least - `information`: not even unneeded leftovers are allowed. */
async function verify(store: Store, least: VerifySeverity, wrong: string[]): Promise<void> {
  const { findings } = await store.verify({ full: least === 'damage' })
  for (const { severity, kind, message } of findings) {
    if (severity === 'damage' || severity === least) wrong.push(`verify: ${kind}: ${message}`)
  }
}

export function describe(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure)
  const code = isStoreError(failure) ? `${failure.code} ` : ''
  const cause = failure.cause === undefined ? '' : ` because ${describe(failure.cause)}`
  return `${code}${failure.stack ?? failure.message}${cause}`
}

async function auditTables(team: Team, ledger: Ledger, wrong: string[]): Promise<void> {
  const entries = await team.tables()
  const idOf = new Map(entries.map(({ id, name }) => [name, id]))
  if (idOf.size < entries.length) wrong.push('two tables have one name')
  for (const name of idOf.keys()) {
    if (!ledger.tables.has(name) && !ledger.ensured.has(name))
      wrong.push(`there is a table ${name} that nobody made`)
  }
  for (const [name, states] of ledger.tables) {
    if (name === SHARED_TABLE || name === COUNTER_TABLE) continue
    const found = await readTable(team, idOf.get(name), `table ${name}`, wrong)
    const possible = states.filter(({ version }) => version === found.version)
    const differences = possible.map(({ rows }) => differenceOf(found.rows, rows))
    if (possible.length === 0) {
      wrong.push(`table ${name} is at version ${found.version}, not ${versionsOf(states)}`)
    } else if (!differences.includes(null)) {
      wrong.push(`table ${name}, version ${found.version}: ${differences.join(' or ')}`)
    }
    ledger.tables.set(name, [found])
  }
  await auditEnsured(team, idOf, ledger, wrong)
  await auditShared(team, idOf.get(SHARED_TABLE), ledger, wrong)
  await auditCounter(team, idOf.get(COUNTER_TABLE), ledger, wrong)
}

/** Of the ensured tables, each that a caller was told exists, with its columns and none that nobody wanted. */
async function auditEnsured(
  team: Team,
  idOf: ReadonlyMap<string, string>,
  { ensured }: Ledger,
  wrong: string[],
): Promise<void> {
  for (const [name, { id, wanted, told }] of ensured) {
    const found = idOf.get(name)
    if (id !== undefined && found !== id) wrong.push(`table ${name} is ${found}, not ${id}`)
    if (found === undefined) continue
    const { schema, key, rowCount } = await team.table(found).info()
    const columns = new Set(schema.columns.map((column) => column.id))
    const isWhole = [...told].every((column) => columns.has(column))
    const isWanted = [...columns].every((column) => wanted.has(column))
    if (!isWhole || !isWanted || key?.join() !== 'k' || rowCount !== 0) {
      wrong.push(`table ${name} has ${rowCount} rows of ${[...columns]}, and the key ${key}`)
    }
    await team.table(found).delete()
  }
  ensured.clear()
}

type ReadTeam = Readonly<{
  table(id: string): Pick<ReturnType<LaneTeam['table']>, 'scan' | 'version'>
}>

/** Reads a whole table, and compares the text of its rows with their names. */
export async function readTable(
  team: ReadTeam,
  id: string | undefined,
  what: string,
  wrong: string[],
): Promise<TableState> {
  if (id === undefined) return { version: 0, rows: [] }
  const table = team.table(id)
  const rows: ExpectedRow[] = []
  const rowIds = new Set<string>()
  for await (const { $rowID, k, n, f, t } of table.scan()) {
    rowIds.add($rowID)
    const text = typeof t === 'string' ? t : ''
    if (text !== fillerText(String(k), text.length))
      wrong.push(`${what}: the text of ${k} is wrong`)
    rows.push({
      k: String(k),
      n: Number(n),
      f: f === undefined ? null : String(f),
      bytes: text.length,
    })
  }
  if (rowIds.size < rows.length) wrong.push(`${what}: row IDs are not unique`)
  return { version: await table.version(), rows }
}

export function differenceOf(
  found: readonly ExpectedRow[],
  expected: readonly ExpectedRow[],
): string | null {
  if (found.length !== expected.length) return `${found.length} rows, not ${expected.length}`
  for (const [index, row] of expected.entries()) {
    const text = JSON.stringify(found[index])
    if (text !== JSON.stringify(row)) return `row ${index} is ${text}, not ${JSON.stringify(row)}`
  }
  return null
}

/** The adds to the shared table: each is complete, the acknowledged ones in the order of their versions. */
async function auditShared(
  team: Team,
  id: string | undefined,
  ledger: Ledger,
  wrong: string[],
): Promise<void> {
  const [{ version: least } = { version: 0 }] = ledger.tables.get(SHARED_TABLE) ?? []
  const found = await readTable(team, id, 'the shared table', wrong)
  if (least > 0 && found.version === 0) wrong.push('the shared table is not there')
  const tags: string[] = []
  for (let at = 0; at < found.rows.length; ) {
    const tag = found.rows[at]?.k.split('.')[0] ?? ''
    const spec = ledger.begunShares.get(tag)
    const expected = spec === undefined ? [] : expectedRows(spec)
    const difference = differenceOf(found.rows.slice(at, at + expected.length), expected)
    if (expected.length === 0 || difference !== null) {
      wrong.push(`the shared table holds no whole add ${tag}: ${difference}`)
      return
    }
    tags.push(tag)
    at += expected.length
  }
  const expectedVersion = tags.length + 1
  if (found.version > 0 && found.version !== expectedVersion) {
    wrong.push(`the shared table is at version ${found.version}, not ${expectedVersion}`)
  }
  const isSettled = ledger.settledShares.every((tag, index) => tags[index] === tag)
  if (!isSettled) wrong.push('the shared table lost an add that was there before')
  for (const [tag, version] of ledger.doneShares) {
    if (tags[version - 2] !== tag) wrong.push(`the shared table lacks ${tag} of version ${version}`)
  }
  ledger.settledShares = tags
}

/** Each number was set once, and each acknowledged one was set. */
async function auditCounter(
  team: Team,
  id: string | undefined,
  { counted, perhapsCounted }: Ledger,
  wrong: string[],
): Promise<void> {
  if (id === undefined) {
    if (counted.size > 0) wrong.push('the counter is not there')
    return
  }
  const { rows, version } = await readTable(team, id, 'the counter', wrong)
  const last = rows[0]?.n ?? Number.NaN
  if (rows.length !== 1 || version !== last + 1) {
    wrong.push(`the counter is ${last} in ${rows.length} rows, at version ${version}`)
  }
  for (let number = 1; number <= last; number++) {
    if (!counted.has(number) && !perhapsCounted.has(number)) wrong.push(`nobody counted ${number}`)
  }
  for (const number of counted) {
    if (number > last) wrong.push(`the counter is ${last}, and lost ${number}`)
  }
}

async function auditFiles(team: Team, ledger: Ledger, wrong: string[]): Promise<void> {
  for (const [id, { tag, bytes }] of ledger.files) {
    const file = await team.files.get(id)
    if (file === null) {
      wrong.push(`file ${tag} is gone`)
      continue
    }
    const pieces: Uint8Array[] = []
    for await (const piece of file.stream()) pieces.push(piece)
    const isSame = Buffer.concat(pieces).equals(fillerBytes(tag, bytes))
    if (!isSame) wrong.push(`file ${tag} has other bytes`)
  }
}

/** Uses some of the remaining stashes, which shows their content, and deletes all. */
async function auditStashes(team: Team, ledger: Ledger, wrong: string[]): Promise<void> {
  const names = [...ledger.stashes.keys()]
  const [target] = [...ledger.tables].filter(([, [state]]) => (state?.version ?? 0) > 0)
  for (const name of names.slice(-STASHES_USED)) {
    if (target !== undefined) await useStash(team, name, { ledger, target: target[0] }, wrong)
  }
  for (const name of names) {
    await team.stash(name).delete()
    ledger.stashes.delete(name)
  }
}

async function useStash(
  team: Team,
  name: string,
  { ledger, target }: Readonly<{ ledger: Ledger; target: string }>,
  wrong: string[],
): Promise<void> {
  const entry = (await team.tables()).find((table) => table.name === target)
  if (entry === undefined) return
  const contents = ledger.stashContents(name)
  const stash = team.stash(name)
  try {
    const { version } = await team.table(entry.id).overwrite({ rows: stash })
    const found = await readTable(team, entry.id, `stash ${name}`, wrong)
    const differences = contents.map((rows) => differenceOf(found.rows, rows))
    if (!differences.includes(null)) wrong.push(`stash ${name}: ${differences.join(' or ')}`)
    ledger.tables.set(target, [{ version, rows: found.rows }])
  } catch (failure) {
    const mayBeEmpty = contents.some((rows) => rows.length === 0)
    const isEmpty = isStoreError(failure) && failure.code === 'STASH_NOT_FOUND'
    if (!isEmpty || !mayBeEmpty) throw failure
  }
}
