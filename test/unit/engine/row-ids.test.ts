// Goal: printing the row IDs of an operation shows their number and the first ones, never all.
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { rowIdsOf } from '../../../src/engine/ids/row-ids.js'

const rowIdsOfCount = (count: number) =>
  rowIdsOf([
    {
      nonce: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
      extent: 1,
      firstSlot: 0,
      count: Math.min(count, 2),
    },
    {
      nonce: Uint8Array.of(8, 7, 6, 5, 4, 3, 2, 1),
      extent: 2,
      firstSlot: 9,
      count: Math.max(count - 2, 0),
    },
  ])

test.each([0, 1, 3, 4, 8_000_000])('%d row IDs are printed in a short line', (count) => {
  const rowIds = rowIdsOfCount(count)
  const first = Array.from({ length: Math.min(count, 3) }, (_, at) => `'${rowIds.get(at)}'`)
  const more = count > 3 ? [`... ${count - 3} more`] : []
  const line = `RowIds(${count}) [${[...first, ...more].join(', ')}]`

  expect(inspect(rowIds)).toBe(line)
  expect(inspect({ version: 1, rowIds })).toContain(`rowIds: ${line}`)
  expect(line.length).toBeLessThan(200)
})

test.each([0, 1, 3, 10_000, 8_000_000])(
  '%d row IDs are an array in JSON, at most 10,000',
  (count) => {
    const rowIds = rowIdsOfCount(count)
    const first = Array.from({ length: Math.min(count, 10_000) }, (_, at) => rowIds.get(at))
    const more = count > 10_000 ? [`... ${count - 10_000} more`] : []

    expect(JSON.parse(JSON.stringify({ version: 1, rowIds }))).toEqual({
      version: 1,
      rowIds: [...first, ...more],
    })
  },
)

test.each([Symbol('s'), '0', 0.5, Number.NaN, {}])('%s is no index', (index) => {
  const rowIds = rowIdsOfCount(3)

  expect(rowIds.at(index as number)).toBeUndefined()
  expect(() => rowIds.get(index as number)).toThrow(
    expect.objectContaining({ code: 'REQUEST_VALIDATION_ERROR' }),
  )
})
