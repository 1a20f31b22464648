/**
 * Segments and files in a bucket of an S3 server.
 * @module rowstash/s3
 */

export { openS3Objects } from './s3/s3-objects.js'
export type { S3Credentials, S3Options } from './s3/s3-options.js'
