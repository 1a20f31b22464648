// Numbers of CSV with a comma before their decimals, as spreadsheets of many countries write them.

/** What stands before the decimals of a number of CSV. */
export type DecimalMark = '.' | ','

/** The marks of the numbers of a file. */
export type DecimalMarks = Readonly<{
  /** Of the columns that have none of their own. */
  all: DecimalMark
  ofColumns: readonly (readonly [column: string, mark: DecimalMark])[]
}>

export const DECIMAL_POINTS: DecimalMarks = { all: '.', ofColumns: [] }

export function markOf({ all, ofColumns }: DecimalMarks, column: string): DecimalMark {
  return ofColumns.find(([named]) => named === column)?.[1] ?? all
}

const DECIMAL_COMMA = /^( *-?(?:0|[1-9][0-9]*)),([0-9]+(?:[eE][-+]?[0-9]+)? *)$/

/** A number with a decimal comma as JSON writes it; any other text as it is. */
export function withPoint(text: string): string {
  return text.replace(DECIMAL_COMMA, '$1.$2')
}

/** The field of a number with a decimal comma, in quotes or not, with a point; undefined: it is no such number. */
export function pointedField(bytes: Uint8Array, from: number, to: number): Uint8Array | undefined {
  const field = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1')
  const text = /^"([^"]*)"$/.exec(field)?.[1] ?? field
  const pointed = withPoint(text)
  return pointed === text ? undefined : Buffer.from(pointed, 'latin1')
}

/** Whether the comma of a number can be a separator of thousands too, as in `1,234`. */
export function mayBeThousands(text: string): boolean {
  return /^-?[1-9][0-9]{0,2},[0-9]{3}$/.test(text)
}
