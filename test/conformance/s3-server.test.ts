// The suites of ObjectStore, of a store and of the contract on a real S3 server, which the environment names. `node
// test/radosgw.mjs npm test -- test/conformance/s3-server.test.ts` starts one.
import { createHash, randomBytes } from 'node:crypto'
import { MemoryLevel } from 'memory-level'
import { describe, expect, test } from 'vitest'
import { openS3Objects } from '../../adapters/s3/s3-objects.js'
import { resolveS3Options } from '../../adapters/s3/s3-options.js'
import { S3Signer } from '../../adapters/s3/s3-signer.js'
import type { Store, StoreOptions } from '../../src/index.js'
import { openLevelKv, openStore } from '../../src/index.js'
import { OpenApiProof } from '../support/openapi-proof.js'
import {
  findS3Server,
  openEmptyBucket,
  openUnsignedBucket,
  optionsOfServer,
  type S3Server,
} from '../support/s3-server.js'
import { serveContract } from './contract-server.js'
import { type ContractServer, contractSuite } from './contract-suite.js'
import { contractSources } from './fake-sources.js'
import { objectsSuite } from './objects/objects-suite.js'
import { storeSuite } from './store-suite.js'

const MIB = 1_024 * 1_024
const ID = '0123456789abcdef0000000000000001'
const NOWHERE: S3Server = { endpoint: '', bucket: '', accessKeyId: '', secretAccessKey: '' }

const found = findS3Server()
const isMissing = typeof found === 'string'
const server = isMissing ? NOWHERE : found
const title = isMissing ? `… (skipped: ${found})` : found.endpoint

describe.skipIf(isMissing)(`S3 at ${title}`, () => {
  const { accessKeyId, secretAccessKey } = server

  for (const { name, run } of objectsSuite(() => openEmptyBucket(server))) test(name, () => run())

  test('an object of several parts is one object, and no upload is left', async () => {
    const objects = await openEmptyBucket(server)
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
    const objects = await openEmptyBucket(server)
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield randomBytes(17 * MIB)
      throw new RangeError('of the source')
    }
    await expect(objects.put(ID, failing())).rejects.toThrow('of the source')

    expect(await objects.list('')).toEqual([])
    await objects.close()
  })

  test('bytes that change on the way are refused', async () => {
    const settings = resolveS3Options(optionsOfServer(server))
    const url = new URL(`${settings.keyPrefix}${ID}`, settings.bucketUrl)
    const digest = createHash('sha256').update('content').digest('hex')
    const headers = { 'x-amz-content-sha256': digest }
    const signed = await new S3Signer(settings).headers({ method: 'PUT', url, headers })
    const put = async (body: string) =>
      (await fetch(url, { method: 'PUT', body, headers: signed })).status

    expect([await put('changed'), await put('content')]).toEqual([400, 200])
    const objects = await openS3Objects({
      ...optionsOfServer(server),
      keyPrefix: settings.keyPrefix,
    })
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
    await expect(openS3Objects(optionsOfServer(server, change))).rejects.toThrow(message)
  })

  test('a signed URL is good for its length and type only', async () => {
    const objects = await openEmptyBucket(server)
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

describe.skipIf(isMissing)(`a store on S3 at ${title}`, () => {
  const open = async (options: StoreOptions = {}): Promise<Store> => {
    const kv = await openLevelKv(new MemoryLevel())
    return openStore({ ...options, kv, objects: await openUnsignedBucket(server) })
  }

  for (const { name, run } of storeSuite(open)) test(name, () => run())

  const proof = new OpenApiProof()
  const serve = (): Promise<ContractServer> =>
    serveContract((options) => open({ ...options, sources: contractSources }), { proof })
  for (const { name, run } of contractSuite(serve)) test(name, () => run())
})
