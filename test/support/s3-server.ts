// A real S3 server that the environment names, as `node test/radosgw.mjs` does.
import { randomBytes } from 'node:crypto'
import { openS3Objects } from '../../adapters/s3/s3-objects.js'
import type { S3Options } from '../../adapters/s3/s3-options.js'
import type { ObjectStore } from '../../src/ports.js'
import { objectsClosedBy } from './objects-closed-by.js'

export type S3Server = Readonly<{
  endpoint: string
  bucket: string
  accessKeyId: string
  secretAccessKey: string
}>

/** More pages of objects than a test creates. */
const PAGES_MAX = 10

/** The server, or why there is none. */
export function findS3Server(): S3Server | string {
  const { env } = process
  const { ROWSTASH_S3_ENDPOINT: endpoint, ROWSTASH_S3_BUCKET: bucket = '' } = env
  if (endpoint === undefined) return 'no server is named by ROWSTASH_S3_ENDPOINT'
  const accessKeyId = env['ROWSTASH_S3_ACCESS_KEY'] ?? ''
  const secretAccessKey = env['ROWSTASH_S3_SECRET_KEY'] ?? ''
  return { endpoint, bucket, accessKeyId, secretAccessKey }
}

/** Options for a separate prefix in the bucket. */
export function optionsOfServer(
  { accessKeyId, secretAccessKey, ...place }: S3Server,
  others: Partial<S3Options> = {},
): S3Options {
  const keyPrefix = `test-${randomBytes(6).toString('hex')}/`
  return { ...place, credentials: { accessKeyId, secretAccessKey }, keyPrefix, ...others }
}

/** Opens a new prefix in the bucket. Closing removes its objects. */
export async function openEmptyBucket(server: S3Server): Promise<ObjectStore> {
  const objects = await openS3Objects(optionsOfServer(server))
  return objectsClosedBy(objects, async () => {
    for (let ids = [''], page = 0; ids.length > 0 && page < PAGES_MAX; page++) {
      ids = await objects.list('').catch(() => []) // A closed store lists nothing.
      await objects.delete(ids).catch(() => undefined)
    }
    await objects.close()
  })
}

/** Opens a new prefix in the bucket, for suites that PUT uploads to the store: it signs no URLs. */
export async function openUnsignedBucket(server: S3Server): Promise<ObjectStore> {
  const { presignPut: _, ...objects } = await openEmptyBucket(server)
  return objects
}
