// What a twin remembers of its upstream: in the store of the twin, in a team of its own, so that a backup has both.
//
// - The table "twin" has a row for each table that was pulled: its ID and its version upstream, and the twin's table.
// - For each of them a table of pairs: the ID of a row upstream, its ID in the twin, a digest of its cells as they were
//   pulled or pushed, and a version which the row upstream is not above unless somebody else has changed it. A row whose
//   digest is another one was changed in the twin.
import { createHash } from 'node:crypto'
import type { Row, Store, Table, Team } from '../../src/index.js'
import { defineSchema } from '../../src/index.js'

/** Begins the IDs of the teams of these states. No command takes such a team by itself. */
export const TWIN_TEAM_PREFIX = 'twin of '

const TWIN = defineSchema({
  columns: {
    url: 'string',
    upstream: 'string',
    name: 'string',
    local: 'string',
    pairs: 'string',
    version: 'string',
    /** Whether a pull has begun and not ended: the rows of the twin are no longer those of the pairs. */
    isPulling: 'boolean',
    /** Whether somebody else has, or may have, changed the table while it was pushed: the version does not tell. */
    isStale: 'boolean',
    /** What was being pushed; empty when it was answered. */
    unsure: 'string',
  },
})

const PAIRS = defineSchema({
  columns: { upstream: 'string', local: 'string', digest: 'string', version: 'string' },
})

export type Pair = Required<Row<typeof PAIRS>>
export type PairTable = ReturnType<Team['table']>

/** What is known of a table that was pulled. */
export type TwinTable = Readonly<{
  url: string
  upstream: string
  name: string
  local: string
  pairs: string
  version: string
  isPulling: boolean
  isStale: boolean
  unsure: string
}>

const EMPTY: TwinTable = {
  ...{ url: '', upstream: '', name: '', local: '', pairs: '' },
  ...{ version: '', isPulling: false, isStale: false, unsure: '' },
}

/** The cells of a row of the twin; numbers may be BigInt. */
export type Cells = Readonly<Record<string, unknown>>

/** A digest of the cells, whatever the order of the columns. */
export function digestOf(cells: Cells): string {
  const entries = Object.entries(cells).filter(([column]) => column !== '$rowID')
  const text = JSON.stringify(
    entries.sort(([left], [right]) => (left < right ? -1 : 1)),
    (_, value) => (typeof value === 'bigint' ? `${value}n` : value),
  )
  return createHash('sha256').update(text).digest('base64url')
}

export class TwinState {
  readonly #team: Team
  readonly #tables: Table

  private constructor(team: Team, tables: Table) {
    this.#team = team
    this.#tables = tables
  }

  /** The state of the twin of a team, which is made if there is none. */
  static async open(store: Store, teamId: string): Promise<TwinState> {
    const team = store.team(TWIN_TEAM_PREFIX + teamId)
    const [found] = await team.tablesByName('twin')
    if (found !== undefined) return new TwinState(team, found)
    const key = ['url', 'upstream'] as const
    const made = await team.createTable({ name: 'twin', schema: TWIN, rows: [], key })
    return new TwinState(team, team.table(made.tableId))
  }

  async list(url: string): Promise<TwinTable[]> {
    const tables: TwinTable[] = []
    for await (const row of this.#tables.find({ url })) tables.push({ ...EMPTY, ...row })
    return tables
  }

  async get(url: string, upstream: string): Promise<TwinTable | undefined> {
    const found = await this.#tables.get({ url, upstream })
    return found === null ? undefined : { ...EMPTY, ...found.row }
  }

  async put(table: TwinTable): Promise<void> {
    const { $rowID: _, ...cells } = table as TwinTable & { $rowID?: string }
    await this.#tables.merge({ rows: [cells], key: ['url', 'upstream'] })
  }

  pairs({ pairs }: TwinTable): PairTable {
    return this.#team.table(pairs)
  }

  /** Replaces the pairs of a table, and ends its pull. */
  async replacePairs(
    table: TwinTable,
    rows: AsyncIterable<Omit<Pair, '$rowID'>>,
  ): Promise<TwinTable> {
    const made = await this.#team.createTable({
      name: `pairs of ${table.name}`,
      schema: PAIRS,
      rows,
      key: ['upstream'],
    })
    const next = { ...table, pairs: made.tableId, isPulling: false, isStale: false, unsure: '' }
    await this.put(next)
    if (table.pairs !== '') await this.pairs(table).delete()
    return next
  }

  /** IDs that are kept for a while, in their order, so that memory does not depend on their number. */
  keep(stashId: string) {
    return this.#team.stash(stashId)
  }

  /** The IDs of a stash, from a table that is deleted when they were read. */
  async *kept(stashId: string): AsyncGenerator<string, void> {
    const stash = this.#team.stash(stashId)
    const schema = { columns: [{ id: 'upstream', type: 'string' }] } as const
    const made = await this.#team.createTable({ name: 'pulled', schema, rows: stash })
    const table = this.#team.table(made.tableId)
    try {
      for await (const { upstream } of table.scan()) yield String(upstream)
    } finally {
      await table.delete()
      await stash.delete()
    }
  }

  /** Notes, in one commit, that a change was pushed. @param version - That of the table upstream after it. */
  async pushed(table: TwinTable, version: string, change: PushedChange): Promise<TwinTable> {
    const found = await this.#tables.get({ url: table.url, upstream: table.upstream })
    const isStale = table.isStale || !isNext(table.version, version)
    const noted = { version, isStale, unsure: '' }
    await this.#team.transaction(async (transaction) => {
      const pairs = transaction.table(table.pairs)
      if (change.kind === 'changed')
        await pairs.updateRow(change.pair, { digest: change.digest, version })
      if (change.kind === 'deleted') await pairs.deleteRow(change.pair)
      if (change.kind === 'added') await pairs.addRows(change.pairs)
      const tables = transaction.table(this.#tables.id)
      await tables.updateRow(found?.row.$rowID ?? '', noted)
    })
    return { ...table, ...noted }
  }
}

/** Whether one change leads from one version to the other: a delete of a row that was gone is none. */
function isNext(before: string, after: string): boolean {
  return after === before || (/^[0-9]+$/.test(before) && after === String(BigInt(before) + 1n))
}

/** `pair`: the row ID of the pair. */
export type PushedChange =
  | Readonly<{ kind: 'changed'; pair: string; digest: string }>
  | Readonly<{ kind: 'deleted'; pair: string }>
  | Readonly<{ kind: 'added'; pairs: readonly Omit<Pair, '$rowID'>[] }>
