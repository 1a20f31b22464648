// The surroundings of docstring examples: modules, URLs to fetch, and servers of PostgreSQL and S3.

import { StoreError } from '../../src/index.js'
import type { UrlFetcher } from '../../src/ports.js'
import { startPostgres } from '../support/postgres-server.js'
import { S3Double } from '../support/s3-double.js'
import type { Names } from './run-module.js'

/** Fetches the one file that examples name. */
export const exampleSources: UrlFetcher = {
  async fetch(url) {
    if (url !== 'https://files.example.com/orders.csv') {
      throw new StoreError('SOURCE_URL_NOT_ALLOWED', 'The URL is not allowed')
    }
    const body = (async function* () {
      yield new TextEncoder().encode('id,total\n1,34.50\n2,12\n')
    })()
    return { contentType: 'text/csv', fileName: undefined, url, body, close: () => undefined }
  },
}

/** Modules that examples import, besides those of this package. The first test that an example registers is run. */
export async function exampleModules(): Promise<Readonly<Record<string, Names>>> {
  const run = (...given: readonly unknown[]): unknown => given.at(-1)
  return {
    'memory-level': await import('memory-level'),
    'node:fs': await import('node:fs'),
    'node:http': await import('node:http'),
    'node:diagnostics_channel': await import('node:diagnostics_channel'),
    'node:test': { test: run },
    fastify: await import('fastify'),
  }
}

type ExampleServers = Readonly<{
  given: Readonly<
    Record<'endpoint' | 'bucket' | 'region' | 'accessKeyId' | 'secretAccessKey', string>
  >
  /** The example, with the URL of the server. */
  fitted: string
  stop(): Promise<void>
}>

const NOTHING = { endpoint: '', bucket: '', region: '', accessKeyId: '', secretAccessKey: '' }

/** The servers that an example needs; undefined: this machine lacks PostgreSQL. */
export async function exampleServers(text: string): Promise<ExampleServers | undefined> {
  if (text.includes("'rowstash/postgres'")) {
    const server = await startPostgres()
    if (typeof server === 'string') return undefined
    const fitted = text.replaceAll('postgres://rowstash@db.internal/rows', server.url)
    return { given: NOTHING, fitted, stop: () => server.stop() }
  }
  if (text.includes("'rowstash/s3'")) {
    const double = await S3Double.start()
    const { endpoint, bucket, region = '', credentials } = double.options()
    if (typeof credentials === 'function') throw new Error('the double has fixed credentials')
    const given = { endpoint: String(endpoint), bucket, region, ...credentials }
    return { given, fitted: text, stop: () => double.stop() }
  }
  return { given: NOTHING, fitted: text, stop: async () => undefined }
}
