// CONTRACT.md, section 3, `onSchemaError`: every situation of schema-error-values.ts, added as a body, added as a
// stash, and sent as an update of a row.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  etagOf,
  invalidValue,
  rowIdsOf,
  type TableAt,
  tableAt,
  unknownColumn,
} from './api.js'
import {
  arrange,
  type Form,
  pageText,
  quoted,
  type Rows,
  rowTextsOf,
  SHAPES,
  sendable,
} from './schema-error-input.js'
import { UNKNOWN_COLUMNS } from './schema-error-new-columns.js'
import { KNOWN_COLUMNS, type Sent, type Situation } from './schema-error-values.js'

const SITUATIONS: readonly Situation[] = [...KNOWN_COLUMNS, ...UNKNOWN_COLUMNS]

function rowText(key: string, token: string | null): string {
  return token === null ? `{"k":"${key}"}` : `{"k":"${key}","c":${token}}`
}

function rowsOfSituation({ json, csv }: Situation): Rows {
  return {
    json: json.map(([sent], i) => `{"k":"j${i}","c":${sent}}`),
    csv: { header: 'k,c', records: csv.map(([sent], i) => `c${i},${quoted(sent)}`) },
  }
}

/** Creates a table with the situation's column, and its old row if there is one. */
async function tableBefore(api: Api, { type, old }: Situation, isStash: boolean): Promise<TableAt> {
  const columns = [{ id: 'k', type: 'string' }, ...(type === null ? [] : [{ id: 'c', type }])]
  const [json] = SHAPES
  const shape = isStash ? SHAPES.find((other) => other.isStash) : json
  assert.ok(shape)
  const rows = { json: [rowText('old', old?.[0] ?? null)], csv: { header: '', records: [] } }
  const sent = await sendable(api, shape, rows)
  const body = `{"name":"before","schema":${JSON.stringify({ columns })},"rows":${sent.rows}}`
  const { json: created } = await api.ok('POST', '/tables', { body })
  const { data } = created as { data: { tableID: string; rowIDs: string[] } }
  return tableAt(data.tableID, data.rowIDs)
}

/** Checks the values that the column then accepts, which show its type. */
async function checkTakes(
  api: Api,
  table: TableAt,
  { takes, refuses }: Pick<Situation, 'takes' | 'refuses'>,
): Promise<void> {
  for (const token of refuses) {
    await api.refused('POST', table.rows, { body: `[{"c":${token}}]` }, invalidValue('c'))
  }
  for (const token of takes) await api.ok('POST', table.rows, { body: `[{"c":${token}}]` })
}

/** A value that a table with the old schema still refuses. */
function misfitOf({ json }: Situation): string | undefined {
  return json.find(([sent, dropped]) => dropped === null && sent !== 'null' && sent !== '""')?.[0]
}

async function checkKeeps(api: Api, table: TableAt, situation: Situation): Promise<void> {
  const misfit = situation.type === null ? '1' : misfitOf(situation)
  if (misfit === undefined) return
  const wanted = situation.type === null ? unknownColumn('c') : invalidValue('c')
  await api.refused('POST', table.rows, { body: `[{"c":${misfit}}]` }, wanted)
}

/** Whether an existing column has another type after `updateSchema`: then every row has changed. */
function isWidened({ type, stays }: Situation): boolean {
  return type !== null && stays !== true
}

function addCase(situation: Situation, shape: (typeof SHAPES)[number], form: Form): ContractCase {
  const { rule, old, json, csv } = situation
  const drops = form === 'dropColumns'
  const after = ([, dropped, updated]: Sent): string | null => (drops ? dropped : updated)
  return {
    name: `${form}, adding ${shape.what}: ${rule}`,
    run: async (api) => {
      const table = await tableBefore(api, situation, shape.isStash)
      const { rows: _, ...options } = await sendable(api, shape, rowsOfSituation(situation))
      const reply = await api.ok('POST', `${table.rows}?onSchemaError=${form}`, options)
      const added = arrange(
        shape,
        json.map((sent, i) => rowText(`j${i}`, after(sent))),
        csv.map((sent, i) => rowText(`c${i}`, after(sent))),
      )
      const oldToken = old?.[drops ? 0 : 1] ?? null
      assert.equal(await rowTextsOf(api, table), pageText([rowText('old', oldToken), ...added]))
      assert.equal(rowIdsOf(reply).length, added.length)
      assert.equal(etagOf(reply), '"2"')

      const oldRow = await api.ok('GET', `${table.rows}/${table.rowIds[0]}`)
      assert.equal(etagOf(oldRow), !drops && isWidened(situation) ? '"2"' : '"1"')
      if (drops) await checkKeeps(api, table, situation)
      else await checkTakes(api, table, situation)
    },
  }
}

const FORMS = ['dropColumns', 'updateSchema'] as const

function isSent(situation: Situation, { parts, split }: (typeof SHAPES)[number]): boolean {
  if (parts === 'both') return situation.json.length > 0 && situation.csv.length > 0
  return !split && situation[parts].length > 0
}

const adds: ContractCase[] = SITUATIONS.flatMap((situation) =>
  SHAPES.filter((shape) => isSent(situation, shape)).flatMap((shape) =>
    FORMS.map((form) => addCase(situation, shape, form)),
  ),
)

/** PATCH with the first value that does not fit, which alone decides the column's new type. */
function updateCase(situation: Situation, misfit: Sent, form: Form): ContractCase {
  const { rule, old = ['', ''] } = situation
  const [sent, , updated] = misfit
  return {
    name: `${form}, updating a row: ${rule}`,
    run: async (api) => {
      const table = await tableBefore(api, situation, false)
      const cells = `{"c":${old[0]},"k":"other"}`
      const [otherId] = rowIdsOf(await api.ok('POST', table.rows, { body: `[${cells}]` }))
      const [rowId] = table.rowIds
      const at = `${table.rows}/${rowId}`
      const body = `{"k":"new","c":${sent}}`
      if (form === 'abort') {
        await api.refused('PATCH', `${at}?onSchemaError=abort`, { body }, invalidValue('c'))
        assert.equal(await api.versionOf(table), 2)
        return
      }
      const reply = await api.ok('PATCH', `${at}?onSchemaError=${form}`, { body })
      assert.deepEqual([etagOf(reply), reply.json], ['"3"', {}])
      const other = await api.ok('GET', `${table.rows}/${otherId}`)
      const drops = form === 'dropColumns'
      const isRetyped = !drops && isWidened(situation)
      assert.equal(etagOf(other), isRetyped ? '"3"' : '"2"')
      // A dropped cell is as if it was not sent: the old value remains.
      assert.equal(
        await rowTextsOf(api, table),
        pageText([
          rowText('new', drops ? old[0] : updated),
          `{"c":${old[drops ? 0 : 1]},"k":"other"}`,
        ]),
      )
      if (drops) await checkKeeps(api, table, situation)
      else await checkTakes(api, table, situation)
    },
  }
}

const updates: ContractCase[] = SITUATIONS.flatMap((situation) => {
  const misfit = situation.json.find(([sent]) => sent === misfitOf(situation))
  if (situation.type === null || misfit === undefined) return []
  return (['abort', ...FORMS] as const).map((form) => updateCase(situation, misfit, form))
})

export const schemaErrorCases: readonly ContractCase[] = [...adds, ...updates]
