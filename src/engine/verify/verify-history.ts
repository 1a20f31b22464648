// Checks the history of tables: each change follows the previous one, and the earlier forms of the rows that it
// changed or removed exist.

import { type Bytes, compareBytes } from '../../base/bytes.js'
import {
  CHANGES_RANGE,
  type ChangeRecord,
  changeKey,
  changesRange,
  decodeChange,
  decodeHistory,
  decodeRowBeforeKey,
  historyKey,
  positionsOf,
  ROWS_BEFORE_RANGE,
  rowBeforeKey,
  type SlotRun,
  tableRange,
  versionOfChangeKey,
} from '../../format/change-records.js'
import { deadTableKey } from '../../format/dead-table.js'
import {
  type Position,
  SLOTS_MAX,
  type TableKey,
  tableHeadKey,
  tableOfKey,
} from '../../format/keys.js'
import { decodeRowRecord, decodeTableHead } from '../../format/records.js'
import { readSpans } from '../../format/row-text.js'
import { renderTableId } from '../../format/table-id.js'
import type { KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { comparePositions, endOf } from '../changes/generation-end.js'
import type { VerifyFindingKind, VerifyPlace } from '../types/verify-types.js'
import { type Findings, toReadProblem } from './verify-findings.js'

/** Maximum number of rows that one query looks up. */
const ROWS_AT_ONCE = 1_000

/** Maximum number of findings that are reported for one table. */
const PROBLEMS_MAX = 100

export async function verifyHistory(
  findings: Findings,
  partition: KvPartition,
  team: string,
): Promise<void> {
  await partition.read(async (view) => {
    let after: TableKey | null = null
    for (;;) {
      findings.checkGoesOn()
      const table = await nextTable(view, after)
      if (table === null) return
      const where = { team, table: renderTableId(table) }
      try {
        await verifyTableHistory(findings, view, table, where)
      } catch (failure) {
        findings.add(toReadProblem(failure, 'record'), where)
      }
      after = table
    }
  })
}

/** The next table after `after` that has a record of a history; null: there is none. */
async function nextTable(view: KvView, after: TableKey | null): Promise<TableKey | null> {
  let first: TableKey | null = null
  for (const { start, limit } of [CHANGES_RANGE, ROWS_BEFORE_RANGE]) {
    const from = after === null ? start : tableRange(start, after).limit
    const [entry] = await view.scan({ start: from, limit, count: 1, keysOnly: true })
    const table = entry === undefined ? null : tableOfKey(entry[0])
    if (table !== null && (first === null || compareBytes(table, first) < 0)) first = table
  }
  return first
}

async function verifyTableHistory(
  findings: Findings,
  view: KvView,
  table: TableKey,
  where: VerifyPlace,
): Promise<void> {
  const head = await view.get(tableHeadKey(table))
  if (head === null) {
    if ((await view.get(deadTableKey(table))) !== null) return
    const message = 'History remains of a table that does not exist'
    return findings.add({ kind: 'orphan-record', message }, where)
  }
  const { version } = decodeTableHead(head)
  await new HistoryWalk(findings, view, table, { where, version }).run()
}

/** A version, and the `since` of its change; null: the change cannot be read. */
type Seen = Readonly<{ version: number; since: number | null }>

class HistoryWalk {
  readonly #findings: Findings
  readonly #view: KvView
  readonly #table: TableKey
  readonly #where: VerifyPlace
  /** The version of the table. */
  readonly #version: number
  /** Changes up to this version, and their rows, may be deleted at any time. */
  #deleted = 0
  #problems = 0
  /** Number of rows that the changes name. */
  #named = 0
  /** Whether all changes were readable, so that the rows that they name can be counted. */
  #isCountable = true

  constructor(
    findings: Findings,
    view: KvView,
    table: TableKey,
    { where, version }: Readonly<{ where: VerifyPlace; version: number }>,
  ) {
    this.#findings = findings
    this.#view = view
    this.#table = table
    this.#where = where
    this.#version = version
  }

  async run(): Promise<void> {
    const history = await this.#view.get(historyKey(this.#table))
    if (history !== null) this.#deleted = decodeHistory(history)
    if (this.#deleted > this.#version) {
      this.#tell('record-mismatch', `The history was deleted up to version ${this.#deleted}`)
    }
    let last: Seen | null = null
    for await (const entries of scanBatches(this.#view, changesRange(this.#table, 0))) {
      this.#findings.checkGoesOn()
      for (const [key, bytes] of entries) {
        const version = versionOfChangeKey(key) ?? 0
        last = { version, since: await this.#checkChange(version, bytes, last) }
      }
    }
    await this.#checkRows()
  }

  #tell(kind: VerifyFindingKind, problem: string): void {
    if (this.#problems++ >= PROBLEMS_MAX) return
    const message = `${problem}; the table has version ${this.#version}`
    this.#findings.add({ kind, message }, this.#where)
  }

  /** @returns the `since` of the change; null: the change cannot be read */
  async #checkChange(version: number, bytes: Bytes, last: Seen | null): Promise<number | null> {
    if (version > this.#version) {
      this.#tell('record-mismatch', `There is a change with version ${version}`)
    }
    let change: ChangeRecord
    try {
      change = decodeChange(bytes)
    } catch (failure) {
      this.#isCountable = false
      this.#tell(
        toReadProblem(failure, 'record').kind,
        `The change of version ${version} is damaged`,
      )
      return null
    }
    if (version <= this.#deleted) return change.since // A garbage collection may be deleting the change.
    this.#checkSince(version, change.since, last)
    await this.#checkRowsOf(version, change)
    return change.since
  }

  /** Checks `since`: the version from which on all changes exist. */
  #checkSince(version: number, since: number, last: Seen | null): void {
    const isNext = last?.version === version - 1
    if (!isNext && since < version - 1 && version - 1 > this.#deleted) {
      this.#isCountable = false
      const first = Math.max(since, last?.version ?? 0, this.#deleted) + 1
      const which =
        first === version - 1 ? `version ${first}` : `versions ${first} to ${version - 1}`
      this.#tell('record-missing', `The history has no change for ${which}`)
    }
    const wanted = isNext ? last.since : null
    if (since < version && (wanted === null || since === wanted)) return
    const before = wanted === null ? '' : `, but the change before it since version ${wanted}`
    this.#tell(
      'record-mismatch',
      `The change of version ${version} says that all changes exist since version ${since}${before}`,
    )
  }

  /** Checks that the earlier forms of the rows that a change changed or removed exist. */
  async #checkRowsOf(version: number, { before, changed, removed }: ChangeRecord): Promise<void> {
    const end = endOf(before)
    const inside = (run: SlotRun): boolean => {
      return run.extent >= before.firstExtent && run.slot + run.count <= SLOTS_MAX
    }
    // Rows that the change both added and removed have no earlier form.
    const runs = [...changed, ...removed.filter((run) => comparePositions(run, end) < 0)]
    if (!runs.every(inside) || changed.some((run) => comparePositions(run, end) >= 0)) {
      this.#isCountable = false
      const message = `The change of version ${version} names rows that did not exist`
      return this.#tell('record-mismatch', message)
    }
    let positions: Position[] = []
    for (const position of positionsOf(runs)) {
      positions.push(position)
      if (positions.length < ROWS_AT_ONCE) continue
      await this.#look(version, positions)
      positions = []
    }
    await this.#look(version, positions)
  }

  async #look(version: number, positions: readonly Position[]): Promise<void> {
    this.#findings.checkGoesOn()
    this.#named += positions.length
    const keys = positions.map((position) => rowBeforeKey(this.#table, position, version))
    const found = await this.#view.getMany(keys)
    for (const [i, { extent, slot }] of positions.entries()) {
      if ((found[i] ?? null) !== null) continue
      this.#named--
      const row = `The row in slot ${slot} of extent ${extent} before version ${version}`
      this.#tell('record-missing', `${row} is missing`)
    }
  }

  /**
   * Reads the earlier forms of rows, and counts them. If there are more than the changes name, some belong to no
   * change.
   */
  async #checkRows(): Promise<void> {
    let count = 0
    for await (const entries of scanBatches(
      this.#view,
      tableRange(ROWS_BEFORE_RANGE.start, this.#table),
    )) {
      this.#findings.checkGoesOn()
      for (const [key, bytes] of entries) {
        const { position, version } = decodeRowBeforeKey(key)
        if (version <= this.#deleted) continue // A garbage collection may be deleting the record.
        count++
        if (this.#findings.full) this.#checkRow(position, version, bytes)
      }
    }
    if (!this.#isCountable || count === this.#named) return
    await this.#findUnnamed()
  }

  #checkRow({ extent, slot }: Position, version: number, bytes: Bytes): void {
    const place = `The row in slot ${slot} of extent ${extent} before version ${version}`
    try {
      const row = decodeRowRecord(bytes)
      if (row.version >= version) this.#tell('row-version', `${place} has version ${row.version}`)
      if (row.text === null) this.#tell('row', `${place} is marked as deleted`)
      else readSpans(row.text)
    } catch (failure) {
      this.#tell(toReadProblem(failure, 'record').kind, `${place} is damaged`)
    }
  }

  /** Finds the earlier forms of rows that no change names. Called only if there are such rows. */
  async #findUnnamed(): Promise<void> {
    let named: Readonly<{ version: number; runs: readonly SlotRun[] }> = { version: 0, runs: [] }
    const range = tableRange(ROWS_BEFORE_RANGE.start, this.#table)
    for await (const entries of scanBatches(this.#view, range)) {
      this.#findings.checkGoesOn()
      for (const [key] of entries) {
        const { position, version } = decodeRowBeforeKey(key)
        if (version <= this.#deleted) continue
        if (named.version !== version) {
          const bytes = await this.#view.get(changeKey(this.#table, version))
          const change = bytes === null ? { changed: [], removed: [] } : decodeChange(bytes)
          named = { version, runs: [...change.changed, ...change.removed] }
        }
        if (named.runs.some((run) => isIn(run, position))) continue
        const row = `The row in slot ${position.slot} of extent ${position.extent} before version ${version}`
        this.#tell('orphan-record', `${row} is not named by any change`)
      }
    }
  }
}

function isIn({ extent, slot, count }: SlotRun, position: Position): boolean {
  return extent === position.extent && position.slot >= slot && position.slot < slot + count
}
