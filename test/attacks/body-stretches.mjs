// Without a server: single calls with hostile bodies. Prints for each its CPU time, also per MiB of body, and its
// longest stretch without a turn of the event loop. Compression is off, because its threads would be counted.
import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const DIST = fileURLToPath(new URL('../../dist', import.meta.url))
const { values } = parseArgs({ options: { dist: { type: 'string', default: DIST } } })
const { openMemory } = await import(`${resolve(values.dist)}/index.js`)

const MIB = 1_048_576
const store = await openMemory({
  compression: 'none',
  maintenance: { garbageCollectionIntervalMs: 0 },
})
const team = store.team('t')
const repeated = (row, bytes) => row.repeat(Math.floor(bytes / row.length))
const columns = Array.from({ length: 1_000 }, (_, i) => `c${i}`)

const idOfFile = (_, i) =>
  `rsf-${createHash('sha256').update(String(i)).digest('base64url').slice(0, 32)}`

/** CPU of this process since the last call, in milliseconds. */
let base = process.cpuUsage()
function spentMs() {
  const { user, system } = process.cpuUsage(base)
  base = process.cpuUsage()
  return (user + system) / 1_000
}

async function measure(name, bytes, work) {
  await new Promise((done) => setTimeout(done, 5))
  let longest = 0
  let total = 0
  let isDone = false
  const look = () => {
    const spent = spentMs()
    longest = Math.max(longest, spent)
    total += spent
  }
  const tick = () => {
    look()
    if (!isDone) setImmediate(tick)
  }
  spentMs()
  setImmediate(tick)
  const outcome = await work().then(
    () => 'taken',
    ({ code }) => code,
  )
  look()
  isDone = true
  const perMib = Math.round(total / (bytes / MIB))
  const stretch = `longest stretch ${Math.round(longest)} ms`
  console.log(`${name.padEnd(48)} ${Math.round(total)} ms, ${perMib} a MiB, ${stretch}, ${outcome}`)
}

const FORMATS = {
  json: [
    ['empty rows', `[${repeated('{},', 4 * MIB)}{]`],
    ['nulls', `[${repeated('{"a":null},', 4 * MIB)}{]`],
    ['one key many times', `[${repeated(`{${'"a":1,'.repeat(60)}"a":1},`, 4 * MIB)}{]`],
    ['spaces', `[${repeated(`{}${' '.repeat(1_000)},`, 8 * MIB)}{]`],
    ['a row of numbers', `[{"a":[${repeated('1,', 4_000_000)}1]}]`],
    ['a row of empty texts', `[{"a":[${repeated('"",', 4_000_000)}""]}]`],
    [
      'wide and then empty rows',
      `[{${columns.map((id) => `"${id}":1`)}},${repeated('{},', MIB)}{]`,
    ],
    ['IDs of files', `[${Array.from({ length: 65_000 }, idOfFile).map((id) => `{"a":"${id}"}`)}]`],
    ['one row of names of files', `[{"a":"${repeated('rsf-', 4_000_000)}"}]`],
    ['one row of escapes', `[{"a":"${repeated('\\u0041', 4_000_000)}"}]`],
  ],
  csv: [
    ['differing lengths', `a,b\n${repeated(',\n\n', MIB)}"x`],
    ['empty lines', `a\n${repeated('\n', 4 * MIB)}"x`],
    ['commas alone', repeated(',', 15 * MIB)],
    ['a record of commas', `a\n${repeated(',', 4_000_000)}`],
    ['quotes alone', `a\n${repeated('"', 15 * MIB)}`],
    ['a field of quotes', `a\n"${repeated('""', 4_000_000)}"\n`],
    ['quoted empty fields', `a,b\n${repeated('"",""\n', 4 * MIB)}x"`],
    ['short fields', `a,b\n${repeated('1,x\n', 4 * MIB)}x"`],
    ['1,000 columns, empty', `${columns}\n${repeated(`${','.repeat(999)}\n`, 4 * MIB)}"x`],
    ['1,000 columns, filled', `${columns}\n${repeated(`${'1,'.repeat(999)}1\n`, 4 * MIB)}"x`],
    [
      'not UTF-8 at the end',
      Buffer.concat([Buffer.from(`a\n${repeated('é\n', 4 * MIB)}`), Buffer.of(0xff)]),
    ],
  ],
  ndjson: [
    ['empty rows', `${repeated('{}\n', 4 * MIB)}{"a":tru}`],
    ['blank lines', `${repeated('\n', 15 * MIB)}x`],
    [
      'a new column in each row',
      Array.from({ length: 60_000 }, (_, i) => `{"c${i}":1}`).join('\n'),
    ],
  ],
}

/** CSV with other settings of its dialect. */
const trims = { delimiter: ';', trim: true, escape: 'backslash', extraFields: 'dropEmpty' }
const detected = { dialect: 'detect' }
const DIALECTS = [
  ['commas alone', repeated(',', 15 * MIB), { ...trims, delimiter: ',' }],
  ['a record of commas', `a\n${repeated(',', 7 * MIB)}`, { ...trims, delimiter: ',' }],
  ['quotes alone', `a\n${repeated('"', 15 * MIB)}`, trims],
  ['a field of quotes', `a\n"${repeated('""', 7 * MIB)}"\n`, trims],
  ['blanks alone', `a\n${repeated(' ', 15 * MIB)}`, trims],
  ['backslashes alone', `a\n${repeated('\\', 15 * MIB)}`, trims],
  ['a field of backslashes', `a\n"${repeated('\\\\', 7 * MIB)}"\n`, trims],
  ['one record of text', `a;b\n${repeated('x', 7 * MIB)};y\n`, trims],
  ['short records', `a;b\n${repeated('1;x\n', 4 * MIB)}`, trims],
  ['blank lines that are rows', `a\n${repeated('\n', 4 * MIB)}`, { comment: '#' }],
  ['blank lines that are none', `a\n${repeated('\n', 7 * MIB)}`, { blankLines: 'skip' }],
  ['comments', `a\n${repeated('#\n', 15 * MIB)}`, { comment: '#' }],
  [
    '1,000 columns, empty',
    `${columns}\n${repeated(`${','.repeat(999)}\n`, 4 * MIB)}`,
    { trim: true },
  ],
  ['detected: commas alone', repeated(',', 15 * MIB), detected],
  ['detected: quotes alone', repeated('"', 15 * MIB), detected],
  ['detected: blanks alone', repeated(' ', 15 * MIB), detected],
  ['detected: backslashes alone', repeated('\\', 15 * MIB), detected],
  ['detected: short records', `a;b\n${repeated('1;x\n', 4 * MIB)}`, detected],
  ['detected: days', `a;b\n${repeated('1.2.2026;3.4.2026\n', 4 * MIB)}`, detected],
  [
    'detected: days that differ',
    `a\n${Array.from({ length: 200_000 }, (_, i) => `${1 + (i % 12)}/${1 + (i % 11)}/${1_000 + (i % 9_000)}`).join('\n')}`,
    detected,
  ],
  [
    'detected: numbers that differ',
    `a\n${Array.from({ length: 200_000 }, (_, i) => `"${i},5"`).join('\n')}`,
    detected,
  ],
  [
    'detected: 1,000 columns, empty',
    `${columns}\n${repeated(`${','.repeat(999)}\n`, 4 * MIB)}`,
    detected,
  ],
]

const create = (rows) => team.createTable({ name: 'x', rows })
await create({ json: `[${repeated('{"a":1},', MIB)}{}]` })
await create({ csv: `a\n${repeated('1\n', MIB)}` })
for (const [format, bodies] of Object.entries(FORMATS)) {
  for (const [name, text] of bodies) {
    const bytes = Buffer.from(text)
    await measure(`${format}: ${name}`, bytes.length, () => create({ [format]: bytes }))
  }
}
for (const [name, text, said] of DIALECTS) {
  const csv = Buffer.from(text)
  await measure(`dialect: ${name}`, csv.length, () => create({ csv, ...said }))
}
const numbers = { columns: [{ id: 'a', type: 'number' }] }
const { tableId } = await team.createTable({ name: 'n', schema: numbers, rows: [] })
const misfits = Buffer.from(`[${repeated('{"a":"x"},', 4 * MIB)}{"a":1}]`)
const search = Buffer.from(`[${repeated('{},', 4 * MIB)}{"a":"x"}]`)
await measure('add: the last value does not fit', search.length, () =>
  team.table(tableId).addRows({ json: search }),
)
await measure('add: all values are dropped', misfits.length, () =>
  team.table(tableId).addRows({ json: misfits }, { onSchemaError: 'dropColumns' }),
)
await measure('preflight: no value fits', misfits.length, () =>
  team.preflight({ name: 'x', schema: numbers, rows: { json: misfits } }),
)
const stash = team.stash('columns')
for (let chunk = 0; chunk < 300; chunk++) {
  await stash.put(chunk, [Object.fromEntries(columns.map((id) => [`${chunk} ${id}`, 1]))])
}
await measure('preflight: 300 chunks with columns of their own', 4 * MIB, () =>
  team.preflight({ name: 'x', schema: numbers, rows: stash }),
)
await store.close()
