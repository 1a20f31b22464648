// Whether a row's text has given key values, judged by its cells, whatever its texts and IDs look like.
import { expect, test } from 'vitest'
import { hashOfTokens, hasValues, KeyHasher, valuesOfTokens } from '../../../src/format/key-hash.js'
import { randomTestSeed } from '../../support/seed-record.js'
import { seeded } from '../../support/seeded.js'

const IDS = ['k', ',', ':', '"k', 'x,"k', 'key', ':5,', ']'] as const
const TOKENS = [
  '"v"',
  '"k"',
  '5',
  '5.0',
  '5e0',
  '"5"',
  '",\\"k\\":5"',
  '"a,"',
  'true',
  '"\\u0076"',
  '","',
]

test('a row has the values of a key exactly if its hash says so', () => {
  const seed = randomTestSeed()
  const random = seeded(seed)
  const found = { same: 0, other: 0 }
  for (let run = 0; run < 20_000; run++) {
    const cells = IDS.filter(() => random.once(2)).map((id) => [id, random.pick(TOKENS)] as const)
    const text = cells.map(([id, token]) => `${JSON.stringify(id)}:${token}`).join(',')
    const ids = [random.pick(IDS), ...(random.once(3) ? ['k'] : [])]
    const columns = [...new Set(ids)].map((id) => ({
      id,
      kind: random.pick(['number', 'string'] as const),
    }))
    const tokens = columns.map(({ id }) => {
      const own = cells.find(([one]) => one === id)?.[1]
      return own === undefined || random.once(3) ? random.pick(TOKENS) : own
    })
    const values = valuesOfTokens(columns, tokens)
    const expected =
      String(new KeyHasher(columns).ofText(text)) === String(hashOfTokens(columns, tokens))
    expect(hasValues(text, columns, values), `${text} ${values.join()} seed ${seed}`).toBe(expected)
    found[expected ? 'same' : 'other']++
  }
  expect(found.same).toBeGreaterThan(1_000)
  expect(found.other).toBeGreaterThan(1_000)
})
