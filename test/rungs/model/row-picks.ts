// The rows that the operations of a run address, chosen when an operation is bound to a state.
import fc from 'fast-check'
import { parseRowId, renderRowId } from '../../../src/format/row-id.js'
import { currentOf, type ModelRow, type ModelTable, type State } from './oracle.js'

/**
 * Which row: a current one (most often), a deleted one, one of an earlier generation or of another table, or a place in
 * the extent that was filled last, whose ID finds nothing if the row there kept another.
 */
const ROW_PICKS = [
  ...(['live', 'live', 'live', 'live', 'live', 'live', 'live', 'live'] as const),
  ...(['gone', 'gone', 'earlier', 'earlier', 'foreign', 'foreign'] as const),
  ...(['beside', 'beside', 'garbage'] as const),
] as const
export type RowPick = Readonly<{ kind: (typeof ROW_PICKS)[number]; index: number }>

export const anyRow: fc.Arbitrary<RowPick> = fc.record({
  kind: fc.constantFrom(...ROW_PICKS),
  index: fc.nat({ max: 30 }),
})

/** Few rows, so that concurrent operations often share one. */
export const anyPickOfRacers: fc.Arbitrary<RowPick> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('live'), index: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: anyRow },
)

/** The row whose ID another row is sent with; null: it has none. */
export type Claim = RowPick | null

const anyClaim: fc.Arbitrary<Claim> = fc.option(anyRow)
const anyBeside: fc.Arbitrary<Claim> = fc.record({
  kind: fc.constant('beside'),
  index: fc.nat({ max: 30 }),
})
const inOrder: fc.Arbitrary<Claim | 'in order'> = fc.constant('in order')

/** The rows in their order, like a client that has read them all. Few have another ID or none. */
const anyClaimsInOrder: fc.Arbitrary<Claim[]> = fc
  .array(
    fc.oneof(
      { weight: 12, arbitrary: inOrder },
      { weight: 2, arbitrary: anyBeside },
      { weight: 1, arbitrary: anyClaim },
    ),
    { maxLength: 9, size: 'max' },
  )
  .map((claims) =>
    claims.map((claim, index): Claim => (claim === 'in order' ? { kind: 'live', index } : claim)),
  )

export const anyClaims: fc.Arbitrary<readonly Claim[]> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Claim[]>([]) },
  { weight: 1, arbitrary: fc.array(anyClaim, { maxLength: 9, size: 'max' }) },
  { weight: 2, arbitrary: anyClaimsInOrder },
)

const NO_ROW = 'AAAAAAAAAAAAAAAAAAAAAA'

export function pick<T>(from: readonly T[], index: number): T | undefined {
  return from[index % Math.max(1, from.length)]
}

const SLOTS_BESIDE = 9

/** The IDs of the first places in the extent of the last row ID. */
export function idsBeside(rows: readonly ModelRow[]): string[] {
  const ids = rows.flatMap(({ id }) => parseRowId(id) ?? [])
  const [first] = ids
  if (first === undefined) return []
  const last = ids.reduce((found, id) => (id.extent > found.extent ? id : found), first)
  return Array.from({ length: SLOTS_BESIDE }, (_, slot) => {
    return renderRowId(last.nonce, last.extent, slot)
  })
}

export function pickRow(
  state: State,
  table: ModelTable | undefined,
  { kind, index }: RowPick,
): string {
  const rows = table === undefined ? [] : currentOf(table).rows
  const others = state.tables.filter((other) => other !== table)
  const candidates = {
    live: rows.filter(({ gone }) => !gone),
    gone: rows.filter(({ gone }) => gone),
    earlier: table?.generations.slice(0, -1).flatMap((one) => one.rows.slice(0, 30)) ?? [],
    foreign: others.flatMap((other) => currentOf(other).rows.slice(0, 30)),
    garbage: [],
  }
  const rowId = kind === 'beside' ? pick(idsBeside(rows), index) : pick(candidates[kind], index)?.id
  return rowId ?? (index % 2 === 0 ? NO_ROW : 'no row')
}
