// Deterministic demo rows, with every common kind.

import { DAY_MS } from '../command/command.js'

const CITIES = ['Aarhus', 'Lyon', 'Porto', 'Tartu', 'Utrecht', 'Vilnius']
const ITEMS = ['bolt, M8', 'clamp', 'gasket', 'hinge', 'rivet', 'washer "A2"']

const FIRST_DAY_MS = Date.UTC(2024, 0, 1)

/** Steps that are coprime to their modulus, so that values do not repeat in step. */
const [CITY_STEP, PRICE_STEP, DAY_STEP, MINUTE_STEP] = [7, 7_919, 37, 61]

/** The rows from `first` up to `limit`, as a JSON array. */
export function sampleRows(first: number, limit: number): Buffer {
  const rows = Array.from({ length: limit - first }, (_, i) => JSON.stringify(sampleRow(first + i)))
  return Buffer.from(`[${rows.join(',')}]`)
}

function sampleRow(id: number): object {
  const day = new Date(FIRST_DAY_MS + ((id * DAY_STEP) % 366) * DAY_MS).toISOString().slice(0, 10)
  const minute = (id * MINUTE_STEP) % 1_440
  const time = [Math.floor(minute / 60), minute % 60, 0].map((part) =>
    String(part).padStart(2, '0'),
  )
  return {
    id,
    item: ITEMS[id % ITEMS.length],
    city: CITIES[(id * CITY_STEP) % CITIES.length],
    email: `customer${id % 4_999}@example.org`,
    quantity: 1 + (id % 12),
    total: ((id * PRICE_STEP) % 100_000) / 100,
    paid: id % 3 !== 0,
    day,
    at: `${day}T${time.join(':')}Z`,
    tags: id % 4 === 0 ? ['gift', 'express'] : ['standard'],
  }
}
