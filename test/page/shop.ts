// A store to view: two tables of a shop, with every kind of cell, and texts that would act in a page.
import type { Store } from '../../src/index.js'

/** It would act if any place of the page treated it as markup. */
export const MARKUP = `<img src=x onerror="document.title='acted'"><script>document.title='acted'</script>`

const NAMES = ['Ada Byron', 'Alan Turing', 'Grace Hopper', 'Barbara Liskov', 'Edsger Dijkstra']
const CITIES = ['Berlin', 'Zürich', 'São Paulo', 'Tōkyō', 'Reykjavík', 'Nairobi']

/** A drawing of a parcel, 72 pixels wide. */
export const IMAGE = Buffer.from(
  `iVBORw0KGgoAAAANSUhEUgAAAEgAAAA8BAMAAAA3cOGjAAAAFVBMVEXm7vjgtHrIllioeED04sDYwJT////THkv1
    AAAA90lEQVR42uXVMQ6DMAwFULB6AKL0AjB0tpQTVAonqLgAA/c/QhMCJTiOzVSpqkfnLc7wf9P817TdBWNMd8Go
    ymxzxQjq5r2qgvH+qai715UxqlpPp6pjjKLafSup3lSUzdBQUdbliFfWnRGngiGoVNFQRNXoOHRW48SjXI1TDR3K
    TnW0K+sklFS4S0RRxdtlNPTr/7BoPpRL6FWiZSYoGYIOtT5uhqKPcvlQtCsZLd9DjytoVSqKSkdByQiSKhE2hSoQ
    nhMDOIQ0e6BEWIYYUIRc1MEZIR+akCOsZTQcCOthDztCqRIgIZTLBSJCraZg0E1Q+BPd/QZM7554YzBqGAAAAABJ
    RU5ErkJggg==`,
  'base64',
)

/** The order whose photo is a missing file, and whose site is a file of this store. */
export const MISSING = 30

function orderOf(index: number, photo: string): object {
  const day = new Date(Date.UTC(2024, 0, 1 + (index % 700))).toISOString()
  return {
    id: index,
    customer: NAMES[index % NAMES.length],
    city: CITIES[(index * 7) % CITIES.length],
    total: ((index * 7919) % 100_000) / 100,
    paid: index % 3 !== 0,
    day: day.slice(0, 10),
    placed: day,
    tags: index % 4 === 0 ? ['gift', 'express'] : ['standard'],
    photo:
      index === MISSING ? 'https://files.example/files/rsf-gone' : index % 5 === 0 ? photo : null,
    site: index === MISSING ? photo : `https://shop.example/orders/${index}`,
    note: index === 3 ? MARKUP : `Delivered to the door, parcel ${index * 31}.\nSecond line.`,
  }
}

function* orders(count: number, photo: string): Generator<object> {
  for (let index = 0; index < count; index++) yield orderOf(index, photo)
}

const KINDS: Readonly<Record<string, string>> = {
  id: 'number',
  photo: 'imageURI',
  customer: 'string',
  city: 'string',
  total: 'number',
  paid: 'boolean',
  day: 'date',
  placed: 'dateTime',
  site: 'uri',
  note: 'markdown',
}

/** Fills a store with orders. @returns the ID of their table */
export async function fillShop(store: Store, count: number): Promise<string> {
  const team = store.team('default')
  const { path } = await team.files.put(IMAGE, { contentType: 'image/png', fileName: 'parcel.png' })
  const url = `https://files.example/${path}` // as a server with another name made it
  const columns = Object.entries(KINDS).map(([id, kind]) => ({ id, type: { kind } }))
  const tags = {
    id: 'tags',
    displayName: 'Tags',
    type: { kind: 'array', items: { kind: 'string' } },
  }
  const schema = { columns: [...columns.slice(0, 8), tags, ...columns.slice(8)] } as never
  const { tableId } = await team.createTable({ name: 'Orders', schema, rows: orders(count, url) })
  await team.createTable({
    name: MARKUP,
    rows: [{ [MARKUP]: MARKUP, n: 1 }],
  })
  return tableId
}
