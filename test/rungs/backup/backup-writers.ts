// Writers that record what their tables contain at each version, and when each operation began and ended.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Store, Table } from '../../../src/index.js'
import { type Seeded, seeded } from '../../support/seeded.js'

type Row = Readonly<{ id: string; n: number }>

/** A version of a table: its content, and when its operation began and was acknowledged. */
export type KnownVersion = { readonly rows: readonly Row[]; readonly begun: number; ended: number }

/** Numbers the events of all writers in one sequence. */
export type Ticks = { now: number }

const ROWS_MAX = 60
/** Most steps of a run. More steps make its backup take longer. */
const STEPS_MAX = 40

/** The one writer of a table. */
export class TableWriterProcess {
  readonly team: string
  readonly tableId: string
  readonly #table: Table
  readonly #random: Seeded
  readonly #ticks: Ticks
  readonly history = new Map<number, KnownVersion>()
  #version = 1
  #counter = 0

  private constructor(store: Store, team: string, tableId: string, seed: number, ticks: Ticks) {
    this.team = team
    this.tableId = tableId
    this.#table = store.team(team).table(tableId)
    this.#random = seeded(seed)
    this.#ticks = ticks
  }

  static async start(
    store: Store,
    place: Readonly<{ team: string; name: string }>,
    seed: number,
    ticks: Ticks,
  ): Promise<TableWriterProcess> {
    const columns = [{ id: 'n', type: { kind: 'number' } }] as const
    const begun = ticks.now++
    const { tableId } = await store
      .team(place.team)
      .createTable({ name: place.name, schema: { columns }, rows: [] })
    const writer = new TableWriterProcess(store, place.team, tableId, seed, ticks)
    writer.history.set(1, { rows: [], begun, ended: ticks.now++ })
    return writer
  }

  get rows(): readonly Row[] {
    return this.history.get(this.#version)?.rows ?? []
  }

  async run(until: () => boolean): Promise<void> {
    for (let steps = 0; steps < STEPS_MAX && !until(); steps++) {
      await this.step()
      await nextTurn()
    }
  }

  /** One operation. Its version and result are recorded before it is acknowledged. */
  async step(): Promise<void> {
    const { rows } = this
    const choice = this.#random.below(10)
    const row = rows.length === 0 ? undefined : this.#random.pick(rows)
    if (choice < 3 && row !== undefined) {
      const n = this.#counter++
      const next = rows.map((one) => (one === row ? { ...one, n } : one))
      await this.#noted(next, () => this.#table.updateRow(row.id, { n }))
    } else if ((choice < 5 || rows.length > ROWS_MAX) && row !== undefined) {
      const next = rows.filter((one) => one !== row)
      await this.#noted(next, () => this.#table.deleteRow(row.id))
    } else {
      await this.#put(choice === 9, 1 + this.#random.below(choice === 8 ? 40 : 4))
    }
  }

  /** Adds rows, or replaces all. Their IDs are known only afterwards. */
  async #put(overwrites: boolean, count: number): Promise<void> {
    const added = Array.from({ length: count }, () => ({ n: this.#counter++ }))
    const ids: string[] = []
    const kept = overwrites ? [] : this.rows
    const next = (): Row[] => [...kept, ...added.map(({ n }, i) => ({ id: ids[i] ?? '', n }))]
    await this.#noted(next(), async () => {
      const done = overwrites
        ? await this.#table.overwrite({ rows: added })
        : await this.#table.addRows(added)
      ids.push(...done.rowIds)
      return done
    })
    const version = this.history.get(this.#version)
    if (version !== undefined) this.history.set(this.#version, { ...version, rows: next() })
  }

  async #noted(
    rows: readonly Row[],
    act: () => Promise<Readonly<{ version: number }>>,
  ): Promise<void> {
    const version = this.#version + 1
    const known: KnownVersion = { rows, begun: this.#ticks.now++, ended: Number.POSITIVE_INFINITY }
    this.history.set(version, known)
    const done = await act()
    if (done.version !== version) throw new Error(`version ${done.version} instead of ${version}`)
    known.ended = this.#ticks.now++
    this.#version = version
  }
}
