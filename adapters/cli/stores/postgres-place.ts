// A store in PostgreSQL, and in S3 if it is named: `--postgres` and `--s3`, or their variables.
//
// Invariant: no message shows a given URL, because it may contain a password.

import type { Store, StoreError, StoreOptions } from '../../../src/index.js'
import { isStoreError, openStore } from '../../../src/index.js'
import type { KvStore, ObjectStore } from '../../../src/ports.js'
import { noteObjectsPlace } from '../../postgres/store-marks.js'
import { openPostgresKv, openPostgresObjects, type PostgresKvOptions } from '../../postgres.js'
import type { S3Options } from '../../s3/s3-options.js'
import type { OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { type Environment, parseS3Place } from './s3-place.js'

export const POSTGRES_VARIABLE = 'ROWSTASH_POSTGRES'
export const S3_VARIABLE = 'ROWSTASH_S3'

const POSTGRES_HELP = `the store in a PostgreSQL database, as
  postgres://USER@HOST:PORT/DATABASE; repeat it for several servers, of which one accepts writes.
  "?schema=NAME" names the schema (default: rowstash), "?pgbouncer=true" says that PgBouncer is
  there (default: ${POSTGRES_VARIABLE})`

const S3_HELP = `its segments and files in a bucket, as s3://BUCKET/PREFIX, or as
  https://HOST/BUCKET/PREFIX for a server other than AWS (default: ${S3_VARIABLE}, else they are in
  PostgreSQL, too)`

/** The options of commands on such a store. */
export const PLACE_OPTIONS = {
  postgres: { type: 'string', multiple: true, value: 'URL', help: POSTGRES_HELP, isRare: true },
  s3: { type: 'string', value: 'URL', help: S3_HELP, isRare: true },
} as const satisfies OptionSpecs

/** The help of commands with `PLACE_OPTIONS` about environment variables. */
export const PLACE_ENVIRONMENT = `${POSTGRES_VARIABLE} holds URLs as --postgres takes them, with
  spaces between them, and ${S3_VARIABLE} one as --s3. Passwords belong there, or in PGPASSWORD or
  ~/.pgpass, as other users see the command line. Keys of S3 come from AWS_ACCESS_KEY_ID,
  AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, the region from AWS_REGION, another server for s3://
  URLs from AWS_ENDPOINT_URL.`

export type PostgresPlace = Readonly<{
  urls: readonly string[]
  /** undefined: the default. */
  schema: string | undefined
  pgBouncer: boolean
  /** null: objects are in PostgreSQL. */
  s3: S3Options | null
  /** The source of a password that other users can read; undefined: none. */
  exposed: string | undefined
}>

type Given = Readonly<{
  postgres?: readonly string[] | undefined
  s3?: string | undefined
}>

type Reading = Readonly<{
  /** Whether options name another place, so that the environment is ignored. Default: false. */
  isElsewhere?: boolean
  /** The name of the option with the URLs, for messages. Default: `--postgres`. */
  option?: string
}>

/**
 * The place in the options, otherwise in the environment; null: none.
 * @throws {ProgramFailure} usage
 */
export function parsePostgresPlace(
  given: Given,
  env: Environment,
  { isElsewhere = false, option = '--postgres' }: Reading = {},
): PostgresPlace | null {
  const { postgres } = given
  if (isElsewhere) {
    if (postgres === undefined && given.s3 === undefined) return null
    const other = postgres === undefined ? '--s3' : '--postgres'
    throw new ProgramFailure('usage', `${other} cannot be combined with a directory or --memory`)
  }
  const source = postgres === undefined ? POSTGRES_VARIABLE : option
  const urls = postgres ?? wordsOf(env[POSTGRES_VARIABLE])
  const s3 = given.s3 ?? (env[S3_VARIABLE] || undefined)
  const s3Source = given.s3 === undefined ? S3_VARIABLE : '--s3'
  if (urls.length === 0) {
    if (s3 === undefined) return null
    throw new ProgramFailure('usage', `${s3Source} needs --postgres or ${POSTGRES_VARIABLE}, too`)
  }
  const parsed = urls.map((url) => parsePostgresUrl(source, url))
  const [first] = parsed.map(settingsOf)
  if (parsed.some((url) => JSON.stringify(settingsOf(url)) !== JSON.stringify(first))) {
    throw new ProgramFailure(
      'usage',
      `The URLs of ${source} must have the same schema and pgbouncer`,
    )
  }
  const isExposed = postgres !== undefined && parsed.some(hasPassword)
  return {
    urls,
    schema: first?.schema ?? undefined,
    pgBouncer: first?.pgBouncer ?? false,
    s3: s3 === undefined ? null : parseS3Place(s3Source, s3, env),
    exposed: isExposed ? source : undefined,
  }
}

function wordsOf(text = ''): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}

/** @throws {ProgramFailure} usage; the message does not show the URL, which may contain a password */
function parsePostgresUrl(source: string, text: string): URL {
  const isUrl = /^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text)
  if (isUrl) return new URL(text)
  const form = 'postgres://USER@HOST:PORT/DATABASE, with special characters percent-encoded'
  throw new ProgramFailure('usage', `${source} must be a URL of the form ${form}`)
}

type Settings = Readonly<{ schema: string | null; pgBouncer: boolean }>

function settingsOf({ searchParams }: URL): Settings {
  const pgBouncer = searchParams.get('pgbouncer') === 'true'
  return { schema: searchParams.get('schema'), pgBouncer }
}

function hasPassword({ password, searchParams }: URL): boolean {
  return password !== '' || searchParams.has('password')
}

/** The servers and the database of a place, for messages. */
export function shownPlace({ urls }: Pick<PostgresPlace, 'urls'>): string {
  const shown = urls.map((text) => {
    const { hostname, port, pathname, searchParams } = new URL(text)
    const host = searchParams.get('host') ?? (hostname || 'localhost')
    const place = `${host}:${searchParams.get('port') ?? (port || '5432')}`
    return `${place}${pathname.length > 1 ? pathname : ''}`
  })
  return shown.join(', ')
}

export type SharedPorts = Readonly<{ kv: KvStore; objects: ObjectStore }>

type PortSettings = Readonly<{
  warn(message: string): void
  /** How long to wait for a server that does not answer, in milliseconds. Default: the default of the ports. */
  retryMsMax?: number | undefined
  /** See `PostgresKvOptions`. */
  versionBaseMin?: number | undefined
}>

/**
 * Opens the ports of a place. Loads their packages here, so that other commands do not need them.
 * @throws {ProgramFailure} a package is missing, or a server cannot be used
 */
export async function openSharedPorts(
  place: PostgresPlace,
  { warn, retryMsMax, versionBaseMin }: PortSettings,
): Promise<SharedPorts> {
  const { s3, exposed } = place
  if (exposed !== undefined) {
    warn(`Other users of this machine see the password in ${exposed}; use ${POSTGRES_VARIABLE}`)
  }
  const options = {
    ...optionsOf(place),
    onWarning: onceEach(warn),
    ...(retryMsMax !== undefined && { retryMsMax }),
  }
  const at = `PostgreSQL at ${shownPlace(place)}`
  const versions = versionBaseMin === undefined ? {} : { versionBaseMin }
  const kv = await reaching(at, openPostgresKv({ ...options, ...versions }))
  let objects: ObjectStore | undefined
  try {
    objects = await (s3 === null ? reaching(at, openPostgresObjects(options)) : openBucket(s3))
    await reaching(at, noteObjectsPlace(options, s3 && `${s3.bucket}/${s3.keyPrefix ?? ''}`))
    return { kv, objects }
  } catch (failure) {
    await objects?.close()
    await kv.close()
    throw failure
  }
}

/** The options of the ports for a place. */
export function optionsOf({ urls, schema, pgBouncer }: PostgresPlace): PostgresKvOptions {
  return { urls, pgBouncer, ...(schema !== undefined && { schema }) }
}

async function openBucket(options: S3Options): Promise<ObjectStore> {
  const { openS3Objects } = await loadS3()
  return reaching(`The bucket ${options.bucket} at ${options.endpoint}`, openS3Objects(options))
}

/** Opens the store at a place. */
export async function openSharedStore(
  place: PostgresPlace,
  options: StoreOptions,
  settings: PortSettings,
): Promise<Store> {
  const ports = await openSharedPorts(place, settings)
  try {
    return await openStore({ ...options, ...ports })
  } catch (failure) {
    await closePorts(ports)
    throw failure
  }
}

export async function closePorts({ kv, objects }: SharedPorts): Promise<void> {
  await kv.close().finally(() => objects.close())
}

function onceEach(warn: (message: string) => void) {
  const warned = new Set<string>()
  return ({ message }: Readonly<{ message: string }>): void => {
    if (!warned.has(message)) warn(message)
    warned.add(message)
  }
}

/** Loads an optional package. @throws {ProgramFailure} */
async function loadS3() {
  try {
    return await import('../../s3/s3-objects.js')
  } catch (failure) {
    const { code, message } = failure as NodeJS.ErrnoException
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes("'aws4fetch'")) throw failure
    const problem = '--s3 needs the package aws4fetch, which is not installed'
    throw new ProgramFailure('failed', `${problem}; run: npm install aws4fetch`, { cause: failure })
  }
}

/** Advice by the code of a server's or the system's failure. */
const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; start the server, or correct host and port',
  ENOTFOUND: 'the host is not known; correct its name',
  ENOENT: 'there is no such socket; start the server, or correct host and port',
  '28P01': 'the user or the password is wrong',
  '28000': 'the user may not connect; see pg_hba.conf of the server',
  '3D000': 'there is no such database; create it, or correct its name',
  '42501': 'the user may not do this; let it create schemas in the database, or own the schema',
}

/** Adds place, reason and advice to a failed opening. @throws {ProgramFailure} */
async function reaching<T>(at: string, opening: Promise<T>): Promise<T> {
  try {
    return await opening
  } catch (failure) {
    if (!isStoreError(failure) || failure.code !== 'STORAGE_UNAVAILABLE') throw failure
    const { code, message } = connectionReason(failure)
    const advice = code === undefined ? undefined : ADVICE[code]
    const problem = `${at} cannot be used: ${message}${advice === undefined ? '' : `: ${advice}`}`
    throw new ProgramFailure('failed', problem, { cause: failure })
  }
}

type Reason = Readonly<{ code: string | undefined; message: string }>

/**
 * The reason of a failure. If a host has several addresses, the cause is a list of failures, without a message of its
 * own. If a package is missing, the failure names it and its cause does not.
 */
function connectionReason({ cause, message: whole }: StoreError): Reason {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause
  if (!(first instanceof Error)) return { code: undefined, message: whole }
  const { code, message } = first as NodeJS.ErrnoException
  const isOfServer = message !== '' && code !== 'ERR_MODULE_NOT_FOUND'
  return { code, message: isOfServer ? message : whole }
}
