// Finds the types that the server inferred for the columns of a new table.
//
// The contract has no request for them. But the server refuses two rows if one of them does not fit. So a row of samples
// in front of a row with an unknown column changes nothing, and the refused row shows whether the samples fit. The
// guess from the sample is mostly right, so one request confirms all columns except dates, which a text column would
// accept too.
import type { ImportClient } from './import-client.js'
import type { Tally } from './import-sample.js'
import type { ValueClass } from './import-values.js'

/** A type that inference makes, as it is shown: a kind, or `array of` one. */
export type ColumnTypeName = string

/** A value of each type. It fits that type, and of the others only such as stand before. */
const SAMPLES: ReadonlyMap<ColumnTypeName, unknown> = new Map<string, unknown>([
  ['string', 'x'],
  ['dateTime', '2000-01-01T00:00'],
  ['date', '2000-01-01'],
  ['number', 1],
  ['boolean', true],
  ['array of string', ['x']],
  ['array of dateTime', ['2000-01-01T00:00']],
  ['array of date', ['2000-01-01']],
  ['array of number', [1]],
  ['array of boolean', [true]],
])

/** Requests for one table. Columns that are open after them have no type here. */
const REQUESTS_MAX = 500

/** @throws {RequestFailure} if the server does not answer that a row fits, or not. */
export async function inferredTypes(
  client: ImportClient,
  tableId: string,
  columns: ReadonlyMap<string, Tally>,
): Promise<ReadonlyMap<string, ColumnTypeName>> {
  const types = new Map<string, ColumnTypeName>()
  let requests = 0

  async function doFit(expected: readonly Expected[]): Promise<boolean> {
    if (expected.length === 0 || requests++ >= REQUESTS_MAX) return false
    const cells = expected.map(({ column, type }) => [column, SAMPLES.get(type)] as const)
    return client.rowFits(tableId, Object.fromEntries(cells))
  }

  /** Sets those types that are as expected: all at once, or by halves where some are not. */
  async function confirm(expected: readonly Expected[]): Promise<void> {
    if (await doFit(expected)) {
      for (const { column, type } of expected) types.set(column, type)
    } else if (expected.length > 1) {
      const middle = expected.length >> 1
      await confirm(expected.slice(0, middle))
      await confirm(expected.slice(middle))
    }
  }

  const expected = [...columns].map(([column, tally]) => ({ column, type: expectedType(tally) }))
  await confirm(expected.filter(({ type }) => !/date/i.test(type)))
  for (const { column } of expected.filter(({ column: id }) => !types.has(id))) {
    for (const type of SAMPLES.keys()) {
      if (!(await doFit([{ column, type }]))) continue
      types.set(column, type)
      break
    }
  }
  return types
}

type Expected = Readonly<{ column: string; type: ColumnTypeName }>

/** The type that inference gives the values of a sample. */
function expectedType(tally: Tally): ColumnTypeName {
  const seen = (Object.keys(tally) as (keyof Tally)[]).filter(
    (name): name is ValueClass => name !== 'elements' && tally[name] > 0,
  )
  const [first, second, ...more] = seen
  if (first === undefined || first === 'text' || more.length > 0) return 'string'
  if (second !== undefined) return first === 'date' && second === 'dateTime' ? second : 'string'
  if (first !== 'array') return first
  return `array of ${tally.elements === undefined ? 'string' : expectedType(tally.elements)}`
}
