// Empty stores of records and of objects on PostgreSQL, for the suites. Each has a separate schema.
import { describe, test } from 'vitest'
import {
  openPostgresKv,
  openPostgresObjects,
  type PostgresKvOptions,
  type PostgresObjectsOptions,
} from '../../adapters/postgres.js'
import type { KvStore, ObjectStore } from '../../src/ports.js'
import type { ConformanceCase } from './case.js'

/** Few connections, so that one server can hold many stores, and cases wait for each other. */
const SMALL = { viewConnectionsMax: 3, commitConnectionsMax: 3, onWarning: () => undefined }

let schemas = 0
const optionsOf = new WeakMap<KvStore, PostgresKvOptions>()

async function open(options: PostgresKvOptions): Promise<KvStore> {
  const kv = await openPostgresKv(options)
  optionsOf.set(kv, options)
  return kv
}

/** Opens a store in a new schema. */
export function openEmpty(url: string, options: Partial<PostgresKvOptions> = {}): Promise<KvStore> {
  return open({ ...SMALL, urls: [url], schema: `s${++schemas}`, ...options })
}

/** Opens objects in a new schema. */
export function openObjects(
  url: string,
  options: Partial<PostgresObjectsOptions> = {},
): Promise<ObjectStore> {
  const few = { connectionsMax: 3, onWarning: () => undefined }
  return openPostgresObjects({ ...few, urls: [url], schema: `s${++schemas}`, ...options })
}

/** Opens another store on the same data. */
export function openSecond(first: KvStore): Promise<KvStore> {
  const options = optionsOf.get(first)
  if (options === undefined) throw new Error('a second store needs a first one')
  return open(options)
}

/** The URL of a proxy of the server, on a port of this machine. */
export function urlOfPort(port: number): string {
  return `postgres://rowstash@127.0.0.1:${port}/postgres`
}

export function runCases(name: string, cases: readonly ConformanceCase[]): void {
  describe(name, () => {
    for (const { name, skip, run } of cases) test.skipIf(skip !== undefined)(name, run)
  })
}
