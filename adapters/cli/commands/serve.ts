import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { ContractKey, Logger, Store } from '../../../src/index.js'
import { openMemory } from '../../../src/index.js'
import type { AnsweredRequest } from '../../../src/ports.js'
import { publishEvent } from '../../base/diagnostics.js'
import type { ConnectionLimits } from '../../http/connections.js'
import { TrustedProxies } from '../../http/remote-address.js'
import { nodeSources, openDirectory } from '../../node.js'
import {
  type CommandIo,
  parseIntegerOption,
  TEAM_DEFAULT,
  whenAborted,
} from '../command/command.js'
import { ProgramFailure } from '../command/program-failure.js'
import { printLines } from '../command/terminal.js'
import { FailureLog } from '../server/failure-log.js'
import {
  checkGivenKey,
  KEY_VARIABLE,
  makeKey,
  readKeyFile,
  readOrMakeKey,
} from '../server/key-file.js'
import { type GivenLimits, type LimitSources, readLimits } from '../server/limit-options.js'
import { serveOwnStore } from '../server/server.js'
import { spaceWarning } from '../server/space-warning.js'
import {
  openSharedStore,
  type PostgresPlace,
  parsePostgresPlace,
} from '../stores/postgres-place.js'
import { noteServed } from '../stores/served-file.js'
import { commandWaitMs } from '../stores/store-place.js'
import { SERVE_OPTIONS } from './serve-options.js'

const DIRECTORY_DEFAULT = './rowstash-data'
const PORT_DEFAULT = '8080'
/** The minimum for `adminKeys` of the handler. */
const ADMIN_KEY_CHARS_MIN = 16

/** Runs `rowstash serve` until the signal. @throws {ProgramFailure} */
export async function runServe(args: readonly string[], io: CommandIo): Promise<void> {
  const command = parseServeArgs(args, io.env)
  const { directory, keyFiles, adminKeyFile, limitSources, ...settings } = command
  const limits = await readLimits(limitSources)
  const fileKeys = await readKeyFiles(keyFiles)
  const adminKeys = await readAdminKeys(adminKeyFile)
  const warn = (warning: string): void => io.warn(`rowstash: ${warning}`)
  const store = await openServed(command, limits, warn)
  const given: readonly SourcedKey[] = [...command.keys, ...fileKeys]
  const own = given.length > 0 ? { keys: given } : await resolveServeKeys(store, command)
  const adminKey = makeKey()
  const failures = new FailureLog((text) => printLines(io.warn, text))
  const server = await serveOwnStore(store, {
    ...settings,
    limits: limits.contract,
    connections: { ...limits.connections, ...settings.connections },
    keys: own.keys?.map(({ key, teamId }) => ({ key, teamId })),
    storedKeys: true,
    adminKeys: [adminKey, ...adminKeys],
    logger: command.log ? jsonLines(io) : undefined,
    onFailure: (failure) => failures.note(failure),
    onWarning: (warning) => io.warn(`rowstash: ${withSources(warning, given)}`),
  })
  try {
    const served = { url: server.localUrl, adminKey }
    const takeBack = directory === undefined ? null : await noteServed(directory, served, warn)
    const teams = [...(own.keys ?? []), ...(await store.keys.list())].map(({ teamId }) => teamId)
    const isInMemory = directory === undefined && command.postgres === null
    const space = isInMemory ? 'the memory of this server' : 'the disk of this store'
    const warning = spaceWarning(teams, limits.store, space)
    if (warning !== undefined) warn(warning)
    printReady(io, command, server.url, own)
    await whenAborted(io.signal)
    await takeBack?.()
  } finally {
    const close = server.close().catch((failure: unknown) => {
      if (failure instanceof ProgramFailure) warn(failure.message) // The exit code reports the signal.
      throw failure
    })
    await close.finally(() => failures.close())
  }
}

/** Opens the store to serve. */
function openServed(
  { directory, postgres, allowPrivateSources, acceptLoss }: ServeCommand,
  { store, maintenance }: GivenLimits,
  warn: (warning: string) => void,
): Promise<Store> {
  const sources = nodeSources({ allowPrivate: allowPrivateSources })
  const limits = { ...store, maintenance }
  if (postgres !== null) {
    return openSharedStore(postgres, { sources, onEvent: publishEvent, ...limits }, { warn })
  }
  return directory === undefined
    ? openMemory({ sources, ...limits })
    : openDirectory(directory, { sources, acceptLoss, waitMs: commandWaitMs(), ...limits })
}

/** Prints each entry of the log as a line of JSON. */
function jsonLines({ print }: CommandIo): Logger {
  const printer = (level: keyof Logger) => (fields: AnsweredRequest, message: string) => {
    print(JSON.stringify({ time: new Date().toISOString(), level, message, ...fields }))
  }
  return { info: printer('info'), warn: printer('warn'), error: printer('error') }
}

/** A key and its source: an option, the environment variable, or a file. */
type SourcedKey = ContractKey & Readonly<{ source: string }>

/** Replaces the indexes of keys in a warning by their sources. */
function withSources(warning: string, keys: readonly SourcedKey[]): string {
  return warning.replace(/\bkeys\[([0-9]+)\]/g, (place, index) => keys[index]?.source ?? place)
}

type ServeCommand = Readonly<{
  /** undefined: the store is in memory or in PostgreSQL. */
  directory: string | undefined
  /** null: the store is elsewhere. */
  postgres: PostgresPlace | null
  host: string
  port: number
  baseUrl: string | undefined
  publicBaseUrl: string | undefined
  keys: readonly SourcedKey[]
  keyFiles: readonly string[]
  adminKeyFile: string | undefined
  corsOrigins: readonly string[] | undefined
  apps: readonly string[] | undefined
  allowPrivateSources: boolean
  /** Limits that have options of their own. They override the same limits in `limitSources`. */
  connections: ConnectionLimits
  trustedProxies: readonly string[]
  limitSources: LimitSources
  page: boolean
  log: boolean
  json: boolean
  acceptLoss: boolean
}>

export function parseServeArgs(args: readonly string[], env: CommandIo['env']): ServeCommand {
  const { values } = parseArgs({
    args: [...args],
    options: SERVE_OPTIONS,
  })
  const keyless = values['keyless-per-address']
  const portText = values.port ?? (env['PORT'] || PORT_DEFAULT)
  return {
    ...parsePlace(values, env),
    host: values.host,
    port: parseIntegerOption('--port', portText, 0, 65_535),
    baseUrl: parseBaseUrlOption('--base-url', values['base-url']),
    publicBaseUrl: parseBaseUrlOption('--public-base-url', values['public-base-url']),
    keys: parseKeys(values.key, values['key-file'] ? undefined : env[KEY_VARIABLE]),
    keyFiles: values['key-file'] ?? [],
    adminKeyFile: values['admin-key-file'],
    corsOrigins: values['cors-origin'],
    apps: values.app,
    allowPrivateSources: values['allow-private-sources'],
    connections:
      keyless === undefined
        ? {}
        : { keylessPerAddressMax: parseIntegerOption('--keyless-per-address', keyless, 1, 65_535) },
    trustedProxies: parseProxies(values['trusted-proxy']),
    limitSources: { options: values.limit, file: values.limits, env },
    page: values.page,
    log: values.log,
    json: values.json,
    acceptLoss: values['accept-loss'],
  }
}

type PlaceValues = Parameters<typeof parsePostgresPlace>[0] &
  Readonly<{ directory?: string | undefined; memory: boolean; 'accept-loss': boolean }>

/** The place of the store. */
function parsePlace(
  values: PlaceValues,
  env: CommandIo['env'],
): Pick<ServeCommand, 'directory' | 'postgres'> {
  const { directory, memory } = values
  if (memory && directory !== undefined) {
    throw new ProgramFailure('usage', 'Specify --directory or --memory, not both')
  }
  const postgres = parsePostgresPlace(values, env, {
    isElsewhere: memory || directory !== undefined,
  })
  if (postgres !== null && values['accept-loss']) {
    throw new ProgramFailure('usage', '--accept-loss cannot be combined with --postgres')
  }
  const isInDirectory = !memory && postgres === null
  return {
    directory: isInDirectory ? resolve(directory ?? DIRECTORY_DEFAULT) : undefined,
    postgres,
  }
}

function parseProxies(given: readonly string[]): readonly string[] {
  try {
    new TrustedProxies(given)
    return given
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause)
    throw new ProgramFailure('usage', problem.replace('Option "trustedProxies"', '--trusted-proxy'))
  }
}

function parseKeys(
  given: readonly string[] | undefined,
  fromEnvironment: string | undefined,
): readonly SourcedKey[] {
  const source = given === undefined ? KEY_VARIABLE : '--key'
  const texts = given ?? (fromEnvironment === undefined ? [] : [fromEnvironment])
  return texts.map((text) => parseCheckedKey(source, text))
}

async function readKeyFiles(paths: readonly string[]): Promise<readonly SourcedKey[]> {
  const keys: SourcedKey[] = []
  for (const path of paths) {
    for (const text of await readKeyFile(path)) keys.push(parseCheckedKey(path, text))
  }
  return keys
}

async function readAdminKeys(path: string | undefined): Promise<readonly string[]> {
  const keys = path === undefined ? [] : await readKeyFile(path)
  for (const key of keys) {
    checkGivenKey(path ?? '', key)
    if (key.length >= ADMIN_KEY_CHARS_MIN) continue
    const problem = `has an admin key of fewer than ${ADMIN_KEY_CHARS_MIN} characters`
    throw new ProgramFailure('usage', `The key file ${path} ${problem}`)
  }
  return keys
}

function parseCheckedKey(source: string, text: string): SourcedKey {
  const parsed = parseTeamKey(text)
  checkGivenKey(source, parsed.key)
  return { ...parsed, source }
}

/** Parses a key and its team. The team follows the last equals sign, because a key in base64 may contain some. */
export function parseTeamKey(text: string): ContractKey {
  const [, key = text, teamId = TEAM_DEFAULT] = /^(.+)=([^=]+)$/.exec(text) ?? []
  return { key, teamId }
}

function parseBaseUrlOption(option: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && !/[?#]/.test(text)
  if (isPlain && url.username === '' && url.password === '') return url.href
  throw new ProgramFailure('usage', `${option} must be an http or https URL, not "${text}"`)
}

/** The keys of a server, and the facts to print about a key that it found or made. */
type OwnKeys = Readonly<{
  /** undefined: the keys in the store. */
  keys: readonly ContractKey[] | undefined
  /** A new key, not shown yet. */
  newKey?: string
  /** The file with the key. */
  keyFile?: string
}>

/** The keys of a server that was given no key: those in the store, or a new key. Closes the store on failure. */
async function resolveServeKeys(
  store: Store,
  { directory, postgres }: ServeCommand,
): Promise<OwnKeys> {
  if (directory === undefined && postgres === null) {
    const key = makeKey()
    return { keys: [{ key, teamId: TEAM_DEFAULT }], newKey: key }
  }
  try {
    if (directory === undefined) return { keys: await storedKeys(store) }
    const { key, path, isNew } = await readOrMakeKey(directory)
    const keys = [{ key, teamId: TEAM_DEFAULT }]
    return { keys, keyFile: path, ...(isNew && { newKey: key }) }
  } catch (failure) {
    await store.close()
    throw failure
  }
}

/** Prints how to reach the ready server. A key in a file is shown only once, when it is made. */
function printReady(
  io: CommandIo,
  { directory, json }: ServeCommand,
  url: string,
  { newKey: key, keyFile }: OwnKeys,
): void {
  if (json) {
    io.print(JSON.stringify({ url, directory, key, keyFile }))
    return
  }
  const place = keyFile === undefined ? '' : ` (kept in ${keyFile})`
  if (key !== undefined) io.print(`key ${key}${place}`)
  else if (keyFile !== undefined) io.print(`the key is in ${keyFile}`)
  io.print(`listening on ${url}`)
}

/** @returns undefined: the keys in the store are used. @throws {ProgramFailure} if the store has no keys */
async function storedKeys(store: Store): Promise<undefined> {
  if ((await store.keys.list()).length > 0) return undefined
  const problem = 'The store in PostgreSQL has no API key'
  const advice = `create one with "rowstash keys add", or pass one by ${KEY_VARIABLE} or --key-file`
  throw new ProgramFailure('usage', `${problem}; ${advice}`)
}
