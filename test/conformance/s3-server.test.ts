// The suites of ObjectStore, of a store and of the contract on a real S3 server: one that the environment names, as
// `node test/radosgw.mjs npm test -- test/conformance/s3-server.test.ts` does.
import { createHash, randomBytes } from 'node:crypto'
import { MemoryLevel } from 'memory-level'
import { describe, expect, test } from 'vitest'
import { openS3Objects } from '../../adapters/s3/s3-objects.js'
import { resolveS3Options, type S3Options } from '../../adapters/s3/s3-options.js'
import { S3Signer } from '../../adapters/s3/s3-signer.js'
import type { ObjectStore, Store, StoreOptions } from '../../src/index.js'
import { openLevelKv, openStore } from '../../src/index.js'
import { objectsClosedBy } from '../support/objects-closed-by.js'
import { OpenApiProof } from '../support/openapi-proof.js'
import { serveContract } from './contract-server.js'
import { type ContractServer, contractSuite } from './contract-suite.js'
import { contractSources } from './fake-sources.js'
import { objectsSuite } from './objects/objects-suite.js'
import { storeSuite } from './store-suite.js'

const {
  ROWSTASH_S3_ENDPOINT: endpoint,
  ROWSTASH_S3_BUCKET: bucket = '',
  ROWSTASH_S3_ACCESS_KEY: accessKeyId = '',
  ROWSTASH_S3_SECRET_KEY: secretAccessKey = '',
} = process.env

const MIB = 1_024 * 1_024
const ID = '0123456789abcdef0000000000000001'

function optionsOf(server: string, others: Partial<S3Options> = {}): S3Options {
  const keyPrefix = `test-${randomBytes(6).toString('hex')}/`
  const credentials = { accessKeyId, secretAccessKey }
  return { endpoint: server, bucket, credentials, keyPrefix, ...others }
}

/** Removes its objects when it is closed. */
async function openEmpty(server: string): Promise<ObjectStore> {
  const objects = await openS3Objects(optionsOf(server))
  return objectsClosedBy(objects, async () => {
    for (let ids = [''], page = 0; ids.length > 0 && page < 10; page++) {
      ids = await objects.list('').catch(() => []) // Of a closed store nothing is left to list.
      await objects.delete(ids).catch(() => undefined)
    }
    await objects.close()
  })
}

const missing = 'no server is named by ROWSTASH_S3_ENDPOINT'
describe.skipIf(endpoint === undefined)(`S3 at ${endpoint ?? `… (skipped: ${missing})`}`, () => {
  const server = endpoint ?? ''

  for (const { name, run } of objectsSuite(() => openEmpty(server))) test(name, () => run())

  test('an object of several parts is one object, and no upload is left', async () => {
    const objects = await openEmpty(server)
    const content = randomBytes(20 * MIB + 5)
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < content.length; at += MIB) yield content.subarray(at, at + MIB)
    }
    expect(await objects.put(ID, pieces())).toBe(content.length)
    const hash = createHash('sha256')
    for await (const piece of (await objects.stream(ID)) ?? []) hash.update(piece)

    expect(hash.digest('hex')).toBe(createHash('sha256').update(content).digest('hex'))
    await objects.close()
  })

  test('a put of parts whose source fails leaves nothing', async () => {
    const objects = await openEmpty(server)
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield randomBytes(17 * MIB)
      throw new RangeError('of the source')
    }
    await expect(objects.put(ID, failing())).rejects.toThrow('of the source')

    expect(await objects.list('')).toEqual([])
    await objects.close()
  })

  test('bytes that change on the way are refused', async () => {
    const settings = resolveS3Options(optionsOf(server))
    const url = new URL(`${settings.keyPrefix}${ID}`, settings.bucketUrl)
    const digest = createHash('sha256').update('content').digest('hex')
    const headers = { 'x-amz-content-sha256': digest }
    const signed = await new S3Signer(settings).headers({ method: 'PUT', url, headers })
    const put = async (body: string) =>
      (await fetch(url, { method: 'PUT', body, headers: signed })).status

    expect([await put('changed'), await put('content')]).toEqual([400, 200])
    const objects = await openS3Objects({ ...optionsOf(server), keyPrefix: settings.keyPrefix })
    await objects.delete([ID])
    await objects.close()
  })

  test.each([
    [{ bucket: 'no-such-bucket' }, /^Option "bucket" .*create the bucket, or correct its name$/],
    [
      { credentials: { accessKeyId, secretAccessKey: 'x' } },
      /^Option "credentials" .*secretAccessKey/,
    ],
    [{ credentials: { accessKeyId: 'x', secretAccessKey } }, /^Option "credentials" .*accessKeyId/],
  ])('an opening fails with what to do: %#', async (change, message) => {
    await expect(openS3Objects(optionsOf(server, change))).rejects.toThrow(message)
  })

  test('a signed URL is good for its length and type only', async () => {
    const objects = await openEmpty(server)
    const terms = { contentType: 'text/plain', contentLength: 5, bytesMax: 5, ttlMs: 60_000 }
    const url = (await objects.presignPut?.(ID, terms)) ?? ''
    const put = async (body: string, contentType = 'text/plain'): Promise<number> => {
      const headers = { 'content-type': contentType }
      return (await fetch(url, { method: 'PUT', body, headers })).status
    }

    expect([await put('four'), await put('longer'), await put('first', 'text/html')]).toEqual([
      403, 403, 403,
    ])
    expect(await objects.list('')).toEqual([])
    expect(await put('first')).toBe(200)
    await objects.close()
  })
})

describe.skipIf(endpoint === undefined)(
  `a store on S3 at ${endpoint ?? '… (skipped, too)'}`,
  () => {
    const open = async (options: StoreOptions = {}): Promise<Store> => {
      const kv = await openLevelKv(new MemoryLevel())
      const { presignPut: _, ...objects } = await openEmpty(endpoint ?? '')
      return await openStore({ ...options, kv, objects }) // These suites PUT uploads at the store.
    }

    for (const { name, run } of storeSuite(open)) test(name, () => run())

    const proof = new OpenApiProof()
    const serve = (): Promise<ContractServer> =>
      serveContract((options) => open({ ...options, sources: contractSources }), { proof })
    for (const { name, run } of contractSuite(serve)) test(name, () => run())
  },
)
