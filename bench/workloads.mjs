// The measured rows: the same for a seed on every machine.

/** A small generator of pseudo-random numbers (mulberry32). 32 bits of state are enough here. */
function randomFrom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const WORDS =
  'amber basin cedar delta ember fjord grove harbor island jasper kernel lagoon meadow north orchid prairie quartz river summit timber umbra valley willow xenon yellow zephyr'.split(
    ' ',
  )

/** Part of some texts, so that 3 of 100 rows are not ASCII. */
const WIDE_WORDS = ['Zürich', 'Łódź', '東京', 'café', 'Ærø', '🚀']

const WIDE_SHARE = 0.03

/** Default bytes of the text column, which make a row about 417 bytes of JSON. */
const TEXT_BYTES_MIN = 50
const TEXT_BYTES_MAX = 200

/** Approximate bytes of a wide row without its text. */
const FIXED_BYTES = 292

/** Rows below this many bytes have three columns instead of eleven. */
const NARROW_BYTES_MAX = 320

/**
 * Makes chunks of rows as JSON texts.
 *
 * @param options.rowBytes approximate length of a row's JSON; undefined: the real workload, 417 bytes
 */
export function makeChunks({ seed, count, rows, rowBytes }) {
  const random = randomFrom(seed)
  const makeRow = rowMaker(random, rowBytes)
  return Array.from({ length: count }, () => {
    const made = Array.from({ length: rows }, (_, index) => JSON.stringify(makeRow(index)))
    return Buffer.from(`[${made.join(',')}]`)
  })
}

function rowMaker(random, rowBytes) {
  const pick = (list) => list[Math.floor(random() * list.length)]
  const integer = (min, max) => min + Math.floor(random() * (max - min + 1))
  const text = (bytes, isWide) => {
    let words = isWide ? pick(WIDE_WORDS) : pick(WORDS)
    while (words.length < bytes) words += ` ${pick(WORDS)}`
    return words.slice(0, Math.max(1, bytes))
  }
  if (rowBytes !== undefined && rowBytes < NARROW_BYTES_MAX) {
    return () => ({
      id: integer(1, 1e9),
      name: pick(WORDS),
      note: text(Math.max(1, rowBytes - 45), random() < WIDE_SHARE),
    })
  }
  return () => {
    const [first, last] = [pick(WORDS), pick(WORDS)]
    const id = integer(1, 1e9)
    const bytes =
      rowBytes === undefined ? integer(TEXT_BYTES_MIN, TEXT_BYTES_MAX) : rowBytes - FIXED_BYTES
    return {
      name: `${first} ${last}`,
      city: pick(WORDS),
      email: `${first}.${last}${id % 10_000}@example.com`,
      website: `https://www.example.org/catalogue/${last}/${id.toString(36)}?from=list`,
      visits: integer(0, 100_000),
      score: Number((random() * 100).toFixed(6)),
      price: integer(1, 99_999) / 100,
      active: random() < 0.5,
      created: new Date(1.6e12 + Math.floor(random() * 1e11)).toISOString(),
      tags: Array.from({ length: integer(1, 4) }, () => pick(WORDS)),
      notes: text(bytes, random() < WIDE_SHARE),
    }
  }
}
