// CONTRACT.md, sections 6 to 9: stashes, jobs and files of a team, and past rows.
import assert from 'node:assert/strict'
import { type Api, type ContractCase, uniqueName, VALIDATION } from './api.js'
import { complete, createUpload, putBytes } from './upload-api.js'

const DAY_MS = 86_400_000
const CONTINUATION_INVALID = { status: 400, type: 'continuation_invalid' } as const

type Entry = Readonly<Record<string, unknown>> & Readonly<{ id: string }>
type List = Readonly<{ data: readonly Entry[]; continuation?: string }>

async function listOf(api: Api, path: string): Promise<List> {
  return (await api.ok('GET', path)).json as List
}

async function putFile(api: Api, fileName: string, text: string): Promise<string> {
  const upload = await createUpload(api, { fileName })
  await putBytes(api, upload, text)
  return complete(api, upload)
}

export const listCases: readonly ContractCase[] = [
  {
    name: 'GET /stashes: what is staged, and when it ends',
    run: async (api) => {
      const id = uniqueName('s')
      await api.putChunk(id, '0', [{ n: 1 }, { n: 2 }])
      await api.putChunk(id, '1', [{ n: 3 }])
      const { data } = await listOf(api, '/stashes')
      const found = data.find((stash) => stash.id === id)
      assert.deepEqual([found?.['chunks'], found?.['rows']], [2, 3])
      assert.ok(Number(found?.['bytes']) > 0)
      const lasts = Number(found?.['expiresAt']) - Number(found?.['createdAt'])
      assert.ok(lasts >= 2 * DAY_MS && lasts < 2 * DAY_MS + 600_000)
      await api.ok('HEAD', '/stashes')
      await api.ok('DELETE', `/stashes/${id}`)
      assert.ok(!(await listOf(api, '/stashes')).data.some((stash) => stash.id === id))
    },
  },
  {
    name: 'GET /jobs: the newest first',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const tableId = table.path.split('/').at(-1)
      const headers = { 'x-glide-asynchronous': 'true' }
      for (const n of [2, 3]) await api.ok('PUT', table.path, { body: [{ n }], headers })
      const { data } = await listOf(api, '/jobs')
      const mine = data.filter(({ tableID }) => tableID === tableId)
      assert.deepEqual(
        mine.map(({ kind, status }) => [kind, status]),
        [
          ['overwrite', 'succeeded'],
          ['overwrite', 'succeeded'],
        ],
      )
      const times = data.map(({ createdAt }) => Number(createdAt))
      assert.deepEqual(
        times,
        times.toSorted((one, other) => other - one),
      )
      await api.ok('HEAD', '/jobs')
    },
  },
  {
    name: 'GET /uploads: those that are open',
    run: async (api) => {
      const fileName = `${uniqueName('u')}.png`
      const upload = await createUpload(api, { fileName, appId: 'app-9' })
      const find = async () =>
        (await listOf(api, '/uploads')).data.find((each) => each.id === upload.id)
      const created = await find()
      assert.deepEqual(
        [created?.['fileName'], created?.['appID'], created?.['contentType'], created?.['bytes']],
        [fileName, 'app-9', 'image/png', undefined],
      )
      await putBytes(api, upload, 'hello')
      assert.equal((await find())?.['bytes'], 5)
      await api.ok('HEAD', '/uploads')
      await complete(api, upload)
      assert.equal(await find(), undefined)
    },
  },
  {
    name: 'GET /files: pages of all files of the team; DELETE ends one',
    run: async (api) => {
      const urls: string[] = []
      for (const name of ['a', 'b', 'c']) urls.push(await putFile(api, `${name}.png`, name))
      const seen: Entry[] = []
      for (let path = '/files?limit=2'; ; ) {
        const { data, continuation } = await listOf(api, path)
        assert.ok(data.length <= 2)
        seen.push(...data)
        if (continuation === undefined) break
        path = `/files?limit=2&continuation=${continuation}`
      }
      assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length)
      const mine = seen.filter(({ url }) => urls.some((each) => String(url).endsWith(each)))
      assert.deepEqual(
        mine.map(({ bytes }) => bytes),
        [1, 1, 1],
      )
      for (const { completedAt, keptUntil } of mine)
        assert.equal(Number(keptUntil) - Number(completedAt), 7 * DAY_MS)
      await api.ok('HEAD', '/files')

      const [first] = mine
      for (const time of [1, 2]) {
        await api.ok('DELETE', `/files/${first?.id}`)
        const left = (await listOf(api, '/files?limit=1000')).data
        assert.equal(
          left.some(({ id }) => id === first?.id),
          false,
          `deleted ${time} times`,
        )
      }
      await api.ok('DELETE', '/files/nothing')
    },
  },
  ...['0', '-1', 'x'].map((limit) => ({
    name: `GET /files?limit=${limit}: 400`,
    run: async (api: Api) =>
      void (await api.refused('GET', `/files?limit=${limit}`, {}, VALIDATION)),
  })),
  {
    name: 'GET /files: 400 continuation_invalid',
    run: async (api) =>
      void (await api.refused('GET', '/files?continuation=x', {}, CONTINUATION_INVALID)),
  },
  {
    name: 'GET of a row at a version: the current one; 410 history_gone; 400 for none',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const row = `${table.rows}/${table.rowIds[0]}`
      await api.ok('PATCH', row, { body: { n: 2 } })
      const { json } = await api.ok('GET', `${row}?at=2`)
      assert.equal((json as { data: { n: number } }).data.n, 2)
      await api.refused('GET', `${row}?at=1`, {}, { status: 410, type: 'history_gone' })
      for (const at of ['3', '0', 'x', '1.5', ''])
        await api.refused('GET', `${row}?at=${at}`, {}, VALIDATION)
    },
  },
]
