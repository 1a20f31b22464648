// Goal: failures that HTTP alone cannot cause are answered as the contract says.
// Method: the whole contract over a store that fails on command.
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createContract } from '../../../src/contract/contract.js'
import { errorResponse } from '../../../src/contract/http/error-response.js'
import { invalidRequest } from '../../../src/contract/http/refusal.js'
import type { Store } from '../../../src/index.js'
import { openMemory, StoreError, type StoreErrorCode } from '../../../src/index.js'
import { nthStep, type PortStep } from '../../conformance/faults/fault-plan.js'
import { SimWorld } from '../../rungs/sim/world.js'
import { anyCodePoint } from '../../support/code-points.js'
import { runOptions } from '../../support/fast-check-options.js'
import { allowAnyAnswer } from '../../support/undescribed-answers.js'

/** Over a store that fails with any code, even one that the operation never has. */
function contractOver(failure: unknown, failures: unknown[] = []) {
  allowAnyAnswer()
  const team = {
    tableNames: () => Promise.reject(failure),
    stash: () => ({ put: () => Promise.reject(failure) }),
  }
  const limits = { pageRowsMax: 10, pageBytesMax: 100 }
  const store = { team: () => team, limits } as unknown as Store
  return { ...contractOn(store, failures), failures }
}

function contractOn(store: Store, failures: unknown[] = []) {
  const contract = createContract(store, {
    keys: [{ key: 'key', teamId: 'team' }],
    onFailure: (failed) => failures.push(failed),
  })
  const send = (method: string, path: string, text = '') =>
    contract.handle({
      method,
      path,
      query: '',
      headers: [
        ['authorization', 'Bearer key'],
        ['content-type', 'application/json'],
      ],
      body: (async function* () {
        yield new TextEncoder().encode(text)
      })(),
    })
  return { send }
}

const ANSWERS: readonly [StoreErrorCode, status: number, type: string][] = [
  ['PAYMENT_REQUIRED', 402, 'payment_required'],
  ['RATE_LIMITED', 429, 'rate_limited'],
  ['SOURCE_URL_NOT_ALLOWED', 400, 'source_url_not_allowed'],
  ['SOURCE_URL_FAILED', 400, 'source_url_failed'],
  ['SOURCE_URL_TIMEOUT', 408, 'source_url_timeout'],
  ['APP_NOT_ALLOWED', 403, 'app_not_allowed'],
  ['FILE_TOO_LARGE', 413, 'file_too_large'],
  ['FILE_NOT_FOUND', 404, 'file_not_found'],
  ['UPLOAD_SIGNATURE_INVALID', 403, 'upload_signature_invalid'],
  ['UPLOAD_EXPIRED', 403, 'upload_expired'],
  ['UPLOAD_NOT_FOUND', 404, 'upload_not_found'],
  ['UPLOAD_INCOMPLETE', 409, 'upload_incomplete'],
  ['UPLOAD_SUPERSEDED', 409, 'upload_superseded'],
  ['UPLOAD_ALREADY_COMPLETED', 409, 'upload_already_completed'],
  ['CONTENT_TYPE_MISMATCH', 400, 'content_type_mismatch'],
  ['CONTENT_LENGTH_MISMATCH', 400, 'content_length_mismatch'],
  ['CHECKSUM_MISMATCH', 400, 'checksum_mismatch'],
  ['STORAGE_UNAVAILABLE', 503, 'storage_unavailable'],
  ['STORE_CLOSED', 503, 'storage_unavailable'],
  ['INSUFFICIENT_STORAGE', 507, 'insufficient_storage'],
  ['DATA_CORRUPT', 500, 'data_corrupt'],
  ['DATA_LOSS', 500, 'data_corrupt'],
  ['OPTION_NOT_ALLOWED', 500, 'internal_error'],
  ['STORE_LOCKED', 500, 'internal_error'],
  ['FORMAT_UNKNOWN', 500, 'internal_error'],
]

test.each(ANSWERS)('%s is answered with %i %s', async (code, status, type) => {
  const { send, failures } = contractOver(new StoreError(code, 'see /var/lib/secret', { row: 1 }))
  const response = await send('GET', '/tables')
  const { error } = JSON.parse(String(response.body))
  expect([response.status, error.type]).toEqual([status, type])
  expect(Object.keys(error)).toEqual(['type', 'message'])
  if (status >= 500) {
    expect(error.message).not.toContain('secret')
    expect(failures).toHaveLength(1)
  } else {
    expect(failures).toHaveLength(0)
  }
  expect('retry-after' in response.headers).toBe(status === 429 || status === 503)
})

test.each([
  ['an Error', new Error('secret')],
  ['undefined', undefined],
  ['a text', 'secret'],
  [
    'a code that is unknown here',
    Object.assign(new StoreError('ABORTED', 'secret'), { code: 'X' }),
  ],
  [
    'a code like a prototype member',
    Object.assign(new StoreError('ABORTED', 's'), { code: 'toString' }),
  ],
])('%s is 500 internal_error and tells nothing', async (_, failure) => {
  const { send, failures } = contractOver(failure)
  const { status, body } = await send('GET', '/tables')
  expect(status).toBe(500)
  expect(body).toBe('{"error":{"type":"internal_error","message":"Internal error"}}')
  expect(failures).toEqual([failure])
})

describe('PUT of a stash chunk publishes only 200 and 400', () => {
  test.each([
    'COLUMN_ID_NOT_FOUND',
    'COLUMN_HAS_INVALID_VALUE',
    'COLUMN_ID_RESERVED',
    'COLUMN_ID_NOT_UNIQUE',
  ] as const)('%s becomes 400', async (code) => {
    const { status, body } = await contractOver(new StoreError(code, 'why')).send(
      'PUT',
      '/stashes/s/0',
      '[]',
    )
    expect([status, JSON.parse(String(body)).error.type]).toEqual([400, 'request_validation_error'])
  })

  test('what is not about the data stays what it is', async () => {
    const full = new StoreError('INSUFFICIENT_STORAGE', 'why')
    expect((await contractOver(full).send('PUT', '/stashes/s/0', '[]')).status).toBe(507)
  })
})

test('an answer to HEAD has no body', async () => {
  expect((await contractOver(new Error('x')).send('HEAD', '/tables')).body).toBeNull()
})

test('a message of any text is well-formed JSON without control characters, and bounded', () => {
  const codes = ['TABLE_NOT_FOUND', 'REQUEST_VALIDATION_ERROR', 'COLUMN_ID_NOT_FOUND'] as const
  fc.assert(
    fc.property(
      fc.constantFrom(...codes),
      fc.string({ unit: anyCodePoint }),
      fc.nat(50),
      (code, text, times) => {
        const { body } = errorResponse(new StoreError(code, text.repeat(times)))
        const { message } = JSON.parse(String(body)).error
        expect(message).not.toMatch(/\p{Cc}/u)
        expect(message.length).toBeLessThan(7_000)
      },
    ),
    runOptions(500),
  )
})

test('the ID in table_not_found and row_not_found is cut at 64 characters, a column ID is not', () => {
  const messageOf = (code: StoreErrorCode, text: string) =>
    JSON.parse(String(errorResponse(new StoreError(code, text)).body)).error.message
  const long = "x'".repeat(100)
  expect(messageOf('TABLE_NOT_FOUND', `Table with ID '${long}' not found`)).toBe(
    `Table with ID '${long.slice(0, 64)}…' not found`,
  )
  const column = `Unknown column ID '${'x'.repeat(256)}'`
  expect(messageOf('COLUMN_ID_NOT_FOUND', column)).toBe(column)
})

test('what the store finds wrong with a request is said of its body, the rest of its own part', () => {
  const messageOf = (failure: unknown) =>
    JSON.parse(String(errorResponse(failure).body)).error.message
  const found = (message: string) => new StoreError('REQUEST_VALIDATION_ERROR', message)
  expect(messageOf(found('Expected an object at character 1'))).toBe(
    'Invalid request body: expected an object at character 1',
  )
  expect(messageOf(found('A column ID has more than 256 characters'))).toBe(
    'Invalid request body: a column ID has more than 256 characters',
  )
  expect(messageOf(found('fileName must be a string'))).toBe(
    'Invalid request body: fileName must be a string',
  )
  expect(messageOf(invalidRequest('query', 'Stash ID is odd'))).toBe(
    'Invalid request query: Stash ID is odd',
  )
})

describe('a store that fails says whether something was changed', () => {
  type Step = PortStep['operation']

  /** A store with a table, whose next steps fail for lack of space. */
  async function openFull(steps: readonly Step[]) {
    const world = new SimWorld(
      {
        store: { inlineRowsMax: 0, cacheBytesMax: 0 },
        disk: { seed: 1, logBytesMax: 10_000 },
        kv: {
          commitRecordsMin: 8,
          checkpointBatches: 4,
          recordCacheBytes: 0,
          durability: 'commit',
        },
        reopens: false,
      },
      1,
    )
    await world.open()
    onTestFinished(() => world.disk.crash('process'))
    const { send } = contractOn(world.store)
    const made = await send('POST', '/tables', '{"name":"t","rows":[{"n":1}]}')
    const { tableID } = JSON.parse(String(made.body)).data
    const fits = ({ operation }: PortStep): boolean => steps.some((step) => step === operation)
    world.arm(nthStep(0, { kind: 'full' }, { fits, lasting: true }))
    const told = async (...request: Parameters<typeof send>): Promise<[number, string]> => {
      const { status, body } = await send(...request)
      return [status, JSON.parse(String(body)).error.message]
    }
    return { told, rows: `/tables/${tableID}/rows` }
  }

  const UNCHANGED = [507, 'The store is full: nothing was changed; try again']

  test('a read', async () => {
    allowAnyAnswer() // A full disk can always be read; this one refuses.
    const { told, rows } = await openFull(['read', 'iterate', 'get'])
    expect(await told('GET', rows)).toEqual(UNCHANGED)
    expect(await told('GET', '/tables')).toEqual(UNCHANGED)
    expect(await told('POST', rows, '[{"n":2}]')).toEqual(UNCHANGED)
  })

  test('a write of rows before their commit', async () => {
    const { told, rows } = await openFull(['put'])
    expect(await told('POST', rows, '[{"n":2}]')).toEqual(UNCHANGED)
    expect(await told('PUT', '/stashes/s/0', '[{"n":2}]')).toEqual(UNCHANGED)
  })

  test('a failed commit, and the writes after the commit', async () => {
    const { told, rows } = await openFull(['write'])
    expect(await told('POST', rows, '[{"n":2}]')).toEqual([
      507,
      expect.stringContaining('The store is full: outcome unknown; retry'),
    ])
    expect(await told('POST', rows, '[{"n":2}]')).toEqual(UNCHANGED)
    expect(await told('PUT', '/stashes/s/0', '[{"n":2}]')).toEqual(UNCHANGED)
  })

  test('a store that was closed', async () => {
    const store = await openMemory()
    const { send } = contractOn(store)
    await store.close()
    const { status, body } = await send('POST', '/tables', '{"name":"t","rows":[]}')
    expect([status, JSON.parse(String(body)).error.message]).toEqual([
      503,
      'The store is closing: nothing was changed; try again',
    ])
  })
})
