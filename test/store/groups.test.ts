// Groups of rows: the bounds of their memory and work, and what is refused. `find.test.ts` compares groups with the
// oracle.
import { expect, onTestFinished, test } from 'vitest'
import { utf8 } from '../../src/base/bytes.js'
import { ExactSum } from '../../src/engine/find/exact-sum.js'
import { openMemory, type Table } from '../../src/index.js'
import { seeded } from '../support/seeded.js'
import { WorkCounter } from './work-counter.js'

async function tableOf(rows: readonly object[] | string): Promise<Table> {
  const store = await openMemory()
  onTestFinished(() => store.close())
  const given = typeof rows === 'string' ? { json: utf8(rows) } : rows
  const { tableId } = await store.team('t').createTable({ name: 't', rows: given })
  return store.team('t').table(tableId)
}

test('a sum is exact, whatever the numbers are written as', () => {
  const random = seeded(7)
  const sum = new ExactSum()
  let expected = 0n
  let most = 0
  for (let n = 0; n < 3_000; n++) {
    const places = random.below(20)
    const units = BigInt(random.below(2 ** 31)) * 10n ** BigInt(random.below(25))
    const sign = random.once(2) ? '-' : ''
    const digits = String(units).padStart(places + 1, '0')
    const [whole, fraction] = [digits.slice(0, digits.length - places), digits.slice(-places)]
    const plain = `${sign}${whole}${places === 0 ? '' : `.${fraction}`}`
    const token = random.once(3) ? `${sign}${units}E-${places}` : plain
    const bytes = utf8(`x${token}`)
    expect(sum.add(bytes, 1, bytes.length)).toBe(true)
    expected += (sign === '' ? units : -units) * 10n ** BigInt(20 - places)
    most = Math.max(most, places)
  }
  const text = `${expected < 0n ? '-' : ''}${String(expected < 0n ? -expected : expected).padStart(21, '0')}`
  expect(sum.text()).toBe(`${text.slice(0, -20)}.${text.slice(-20)}`.slice(0, most - 20))
})

test('sums beyond the safe integers lose no digit', () => {
  const sumOf = (...tokens: string[]) => {
    const sum = new ExactSum()
    for (const token of tokens) sum.add(utf8(token), 0, token.length)
    return sum.text()
  }

  expect(sumOf('999999999999999', ...Array(20).fill('999999999999999'), '0.1')).toBe(
    '20999999999999979.1',
  )
  expect(sumOf('1e308', '-1e308', '1e-400')).toBe(`0.${'0'.repeat(399)}1`)
  expect(sumOf('0.1', '0.2', '-0.3')).toBe('0.0')
  expect(sumOf('0.50', '94274.80')).toBe('94275.30')
  expect(sumOf('1', '123456789012345678.50')).toBe('123456789012345679.50')
  expect(sumOf('1.50e1', '2.50E-1', '15e-1', '1e3')).toBe('1016.750')
  expect(sumOf('0.00', '-12')).toBe('-12.00')
  expect(sumOf()).toBeNull()
})

test('there are at most 10,000 groups, and 4 MiB of their values', async () => {
  const table = await tableOf(Array.from({ length: 10_001 }, (_, n) => ({ n, s: n % 9_999 })))

  expect(await table.groups({ by: ['s'], limit: 2 })).toHaveLength(2)
  expect(await table.groups({ by: ['n'], where: { n: { gt: 0 } } })).toHaveLength(10_000)
  await expect(table.groups({ by: ['n'], limit: 1 })).rejects.toMatchObject({
    code: 'REQUEST_VALIDATION_ERROR',
    message:
      'groups: there are more than 10000 groups; group by fewer columns, or select fewer rows with where',
  })
  const long = await tableOf(
    Array.from({ length: 5 }, (_, n) => ({ s: `${n}${'x'.repeat(2 ** 20)}` })),
  )
  await expect(long.groups({ by: ['s'] })).rejects.toThrow('more than 4194304 bytes of values')
})

test('without columns, all rows are one group', async () => {
  const table = await tableOf([{ n: 1 }, { n: 2 }])
  expect(await table.groups({ sum: ['n'] })).toEqual([{ values: {}, count: 2, sum: { n: '3' } }])
})

test('a sum of endless digits is refused', async () => {
  const table = await tableOf('[{"n":1,"d":"2024-01-01"},{"n":1e-999}]')

  await expect(table.groups({ by: [], sum: ['n'] })).rejects.toMatchObject({
    code: 'REQUEST_VALIDATION_ERROR',
    column: 'n',
  })
  expect(await table.groups({ by: [], least: ['n'], greatest: ['d'], numbers: 'text' })).toEqual([
    { values: {}, count: 2, least: { n: '1e-999' }, greatest: { d: '2024-01-01' } },
  ])
})

test('the work is linear in the rows, however their values are written', async () => {
  const counter = new WorkCounter()
  onTestFinished(() => counter.close())
  const workOf = async (rows: number): Promise<number> => {
    const row = (n: number) =>
      `{"n":1.${'0'.repeat(1 + (n % 40))}e${n % 7 === 0 ? '+' : ''}0,"s":"${n % 3}"}`
    const table = await tableOf(`[${Array.from({ length: rows }, (_, n) => row(n)).join(',')}]`)
    const call = () => table.groups({ by: ['n', 's'], sum: ['n'], least: ['n'] })
    await call()
    return (await counter.of(call)).work
  }
  const [few, many] = [await workOf(2_000), await workOf(8_000)]

  expect(many).toBeLessThan(5 * few)
})

test('the columns must exist in the table, with a suitable kind', async () => {
  const table = await tableOf([{ n: 1, s: 'a', tags: ['a'] }])
  const wrong: [object, string][] = [
    [{ by: ['x'] }, 'the table has no column "x"'],
    [{ by: ['tags'] }, 'by does not take column "tags": it is an array column'],
    [{ by: [], sum: ['s'] }, 'sum does not take column "s": its cells are not numbers'],
    [{ by: [], least: ['s'] }, 'its cells are neither numbers nor dates nor times'],
    [{ by: ['n', 'n'] }, 'by names a column twice'],
    [{ by: ['a', 'b', 'c', 'd', 'e'] }, 'by takes at most 4 columns'],
    [{ by: 'n' }, 'by must be an array of column IDs'],
    [{ by: [], limit: 10_001 }, 'limit must be an integer from 1 to 10000'],
  ]
  for (const [request, message] of wrong) {
    const refused = table.groups(request as Parameters<Table['groups']>[0])
    await expect(refused).rejects.toThrow(message)
  }
})

test('a signal ends the grouping', async () => {
  const table = await tableOf([{ n: 1 }])
  const signal = AbortSignal.abort()

  await expect(table.groups({ by: ['n'], signal })).rejects.toMatchObject({ code: 'ABORTED' })
})
