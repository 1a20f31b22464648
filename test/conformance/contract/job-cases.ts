// CONTRACT.md, section 8: jobs.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { SOURCE_URLS } from '../fake-sources.js'
import {
  type Api,
  type ContractCase,
  METHOD,
  type Reply,
  TABLE_NOT_FOUND,
  tableAt,
  uniqueName,
  VALIDATION,
} from './api.js'

const ASYNCHRONOUS = { 'x-glide-asynchronous': 'true' }

const JOB_NOT_FOUND = { status: 404, type: 'job_not_found' } as const

const DAY_MS = 86_400_000

type JobData = Readonly<{
  status: 'running' | 'succeeded' | 'failed'
  result?: unknown
  error?: { message: string }
}>

type Accepted = Readonly<{ tableID?: string; jobID: string }>

/** Checks the answer of an operation that becomes a job. */
function accepted(reply: Reply): Accepted {
  assert.equal(reply.status, 202, reply.text)
  return (reply.json as { data: Accepted }).data
}

async function jobOf(api: Api, jobId: string): Promise<JobData> {
  return ((await api.ok('GET', `/jobs/${jobId}`)).json as { data: JobData }).data
}

const POLL_MS = 100

/** Continues all late sources. Another team does it, because its places for transfers are free. */
export async function letLateSourcesGoOn(api: Api): Promise<void> {
  const body = { sourceURL: SOURCE_URLS.lateNow }
  await api.ok('POST', '/apps/app-a/uploads', { body, key: api.server.otherKey })
}

/** Waits for the end of a job, after its late source was continued. */
async function ended(api: Api, jobId: string): Promise<JobData> {
  for (;;) {
    const job = await jobOf(api, jobId)
    if (job.status !== 'running') return job
    await letLateSourcesGoOn(api)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

function importLate(api: Api, fromUrl: string, displayName: string): Promise<Reply> {
  const body = { fromUrl, displayName, appsToLink: ['app-a'] }
  return api.send('POST', '/tables/import', { body, headers: ASYNCHRONOUS })
}

export const jobCases: readonly ContractCase[] = [
  ...['x', randomUUID(), '__proto__', '%20', 'a%2Fb'].map((jobId) => ({
    name: `GET /jobs/${jobId}: 404 job_not_found`,
    run: async (api: Api) => {
      const message = `Job with ID '${decodeURIComponent(jobId)}' not found`
      await api.refused('GET', `/jobs/${jobId}`, {}, { ...JOB_NOT_FOUND, message })
      await api.refused('GET', `/jobs/${jobId}/`, {}, JOB_NOT_FOUND)
    },
  })),
  {
    name: 'GET and HEAD of a job with a wrong key, and of a path that cannot be decoded',
    run: async (api) => {
      const made = await importLate(api, SOURCE_URLS.late, uniqueName('head'))
      const { jobID } = accepted(made)
      for (const method of ['GET', 'HEAD']) {
        for (const [path, key, status] of [
          [`/jobs/${jobID}`, api.server.key, 200],
          [`/jobs/${jobID}`, 'a-wrong-key-of-nobody', 404],
          [`/jobs/${randomUUID()}`, api.server.key, 404],
          ['/jobs/%ZZ', api.server.key, 400],
        ] as const) {
          assert.equal((await api.send(method, path, { key })).status, status)
        }
      }
      await ended(api, jobID)
    },
  },
  {
    name: 'other methods on a job: 405',
    run: async (api) => {
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
        await api.refused(method, '/jobs/x', {}, METHOD)
      }
    },
  },
  {
    name: 'an asynchronous operation that is wrong is refused as always, without a job',
    run: async (api) => {
      const headers = ASYNCHRONOUS
      const columns = [{ id: 'n', type: 'number' }]
      const misfit = { name: 'x', schema: { columns }, rows: [{ n: 'a' }] }
      await api.refused(
        'POST',
        '/tables',
        { body: misfit, headers },
        {
          status: 422,
          type: 'column_has_invalid_value',
          message:
            'Invalid value for column \'n\' in row 0 (counted from 0): must be a finite number, not "a"',
        },
      )
      await api.refused('POST', '/tables', { body: { rows: [] }, headers }, VALIDATION)
      await api.refused('POST', '/tables', { body: '[{', headers }, VALIDATION)
      await api.refused('PUT', `/tables/${randomUUID()}`, { body: [], headers }, TABLE_NOT_FOUND)
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const late = { body: [], headers: { ...headers, 'if-match': '"0"' } }
      await api.refused('PUT', table.path, late, { status: 412, type: 'precondition_failed' })
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
    },
  },
  {
    name: 'an asynchronous create from a stash that ends at once answers 201',
    run: async (api) => {
      const stashId = randomUUID()
      await api.putChunk(stashId, '0', [{ n: 1 }, { n: 2 }])
      const body = { name: 'x', rows: { $stashID: stashId } }
      const statuses: number[] = []
      while (statuses.length < 5 && !statuses.includes(201)) {
        const reply = await api.ok('POST', '/tables', { body, headers: ASYNCHRONOUS })
        statuses.push(reply.status)
      }
      assert.ok(statuses.includes(201), 'A busy machine may take a second for one, not for all.')
    },
  },
  {
    name: 'an asynchronous create with an Idempotency-Key answers the first result again',
    run: async (api) => {
      const headers = { ...ASYNCHRONOUS, 'idempotency-key': randomUUID() }
      const body = { name: uniqueName('once'), rows: [{ n: 1 }] }
      const first = await api.ok('POST', '/tables', { body, headers })
      const again = await api.ok('POST', '/tables', { body, headers })
      assert.equal(again.text, first.text)
      assert.equal(await api.tableCount(body.name), 1)
    },
  },
  {
    name: 'an operation that takes longer answers 202; the job tells its end, with the data of the operation',
    run: async (api) => {
      const displayName = uniqueName('late')
      const [reply, other] = await Promise.all([
        importLate(api, SOURCE_URLS.late, displayName),
        importLate(api, SOURCE_URLS.lateFault, displayName),
      ])
      const { jobID, tableID = '' } = accepted(reply)
      const failing = accepted(other)
      assert.equal((await jobOf(api, jobID)).status, 'running')
      assert.equal(await api.tableCount(displayName), 0)
      await api.refused('GET', `/jobs/${jobID}`, { key: api.server.otherKey }, JOB_NOT_FOUND)

      const job = await ended(api, jobID)
      const { rowIDs } = (job.result as { rowIDs: string[] }[])[0] ?? { rowIDs: [] }
      assert.deepEqual(job, {
        status: 'succeeded',
        result: [{ tableID, rowIDs, linkedAppIDs: ['app-a'] }],
      })
      const rows = await api.rowsOf(tableAt(tableID))
      assert.deepEqual(
        rows.map(({ $rowID, n }) => [$rowID, n]),
        rowIDs.map((rowId, index) => [rowId, index + 1]),
      )
      const failed = await ended(api, failing.jobID)
      const message =
        'Invalid request body: 2 fields for 1 columns in row 2 (counted from 0), line 4; if another character separates the fields, state it (over HTTP csv.delimiter=semicolon or csv.dialect=detect)'
      assert.deepEqual(failed, { status: 'failed', error: { message } })
      assert.equal(await api.tableCount(displayName), 1)
    },
  },
  {
    name: 'a create and an overwrite that must wait answer 202, and have their effect later',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const busy = [1, 2].map(() => importLate(api, SOURCE_URLS.late, 'busy'))
      await Promise.all(busy) // Both places of the team are taken.
      const headers = ASYNCHRONOUS
      const create = { body: { name: 'late', rows: [{ n: 3 }] }, headers }
      const [overwritten, created] = await Promise.all([
        api.send('PUT', table.path, { body: [{ n: 2 }], headers }),
        api.send('POST', '/tables', create),
      ])
      const [overwrite, made] = [accepted(overwritten), accepted(created)]

      const { rowIDs } = (await ended(api, overwrite.jobID)).result as { rowIDs: string[] }
      assert.deepEqual(await api.rowsOf(table), [{ $rowID: rowIDs[0], n: 2 }])
      const result = (await ended(api, made.jobID)).result as { tableID: string }
      assert.equal(result.tableID, made.tableID)
      assert.deepEqual(await api.cellsOf(tableAt(result.tableID)), [{ n: 3 }])
    },
  },
  {
    name: 'a job is kept for 7 days',
    run: async (api) => {
      if (api.server.later === undefined) return
      const reply = await importLate(api, SOURCE_URLS.late, uniqueName('old'))
      const { jobID } = accepted(reply)
      await ended(api, jobID)
      await api.server.later(6 * DAY_MS)
      await api.ok('GET', `/jobs/${jobID}`)
      await api.server.later(2 * DAY_MS)
      await api.refused('GET', `/jobs/${jobID}`, {}, JOB_NOT_FOUND)
    },
  },
]
