// Rows and files whose content follows from a short name, so that a log entry takes few bytes, and a later reader can
// tell a torn row or a mixed table from a complete one.

/** `count` rows named `${tag}.0`, `${tag}.1`, … with `bytes` bytes of text each. */
export type RowsSpec = Readonly<{ tag: string; count: number; bytes: number }>

/** A row's expected name, the operation that last changed it, and the file that it names. */
export type ExpectedRow = Readonly<{ k: string; n: number; f: string | null; bytes: number }>

export const SCHEMA = {
  columns: [
    { id: 'k', type: { kind: 'string' } },
    { id: 'n', type: { kind: 'number' } },
    { id: 'f', type: { kind: 'string' } },
    { id: 't', type: { kind: 'string' } },
  ],
} as const

export function expectedRows({ tag, count, bytes }: RowsSpec): ExpectedRow[] {
  return Array.from({ length: count }, (_, index) => ({
    k: `${tag}.${index}`,
    n: 0,
    f: null,
    bytes,
  }))
}

export function rowObjects(spec: RowsSpec): Record<string, unknown>[] {
  return expectedRows(spec).map(({ k, n, bytes }) => ({ k, n, t: fillerText(k, bytes) }))
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** Incompressible text, the same for the same name. */
export function fillerText(name: string, bytes: number): string {
  let state = 0x811c9dc5
  for (let at = 0; at < name.length; at++) {
    state = Math.imul(state ^ name.charCodeAt(at), 0x01000193)
  }
  let text = ''
  while (text.length < bytes) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    for (let shift = 0; shift < 30; shift += 6) text += DIGITS[(state >>> shift) & 63]
  }
  return text.slice(0, bytes)
}

export function fillerBytes(name: string, bytes: number): Uint8Array {
  return new TextEncoder().encode(fillerText(name, bytes))
}

/** Of the rows that a replacing merge keeps, one in this number is changed. */
const CHANGED_OF_KEPT = 5

type MergeOf = Readonly<{ mode: 'upsert' | 'replace'; every: number }>

/** What a merge does with the row at an index of the table: it changes its number, omits it, or keeps it. */
export function mergeOfRow({ mode, every }: MergeOf, index: number): 'set' | 'omit' | 'stay' {
  if (mode === 'upsert') return index % every === 0 ? 'set' : 'omit'
  if (index % every === 0) return 'omit'
  return index % CHANGED_OF_KEPT === 1 ? 'set' : 'stay'
}

/** The rows of a table after a merge, without added ones. @param op - The number that changed rows get. */
export function mergedRows<Row extends Readonly<{ n: unknown }>>(
  rows: readonly Row[],
  op: number,
  merge: MergeOf,
): Row[] {
  return rows.flatMap((row, index) => {
    const what = mergeOfRow(merge, index)
    if (what === 'set') return [{ ...row, n: op }]
    return what === 'omit' && merge.mode === 'replace' ? [] : [row]
  })
}
