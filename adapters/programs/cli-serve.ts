import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { AnsweredRequest, ContractKey, Logger, Store } from '../../src/index.js'
import { openMemory } from '../../src/index.js'
import { publishEvent } from '../base/diagnostics.js'
import type { ConnectionLimits } from '../http/connections.js'
import { TrustedProxies } from '../http/remote-address.js'
import { nodeSources, openDirectory } from '../node.js'
import {
  aborted,
  type CommandIo,
  HELP_OPTION,
  parseIntegerOption,
  TEAM_DEFAULT,
} from './cli-command.js'
import { FailureLog } from './failure-log.js'
import { checkKey, KEY_VARIABLE, makeKey, readKeyFile, readOrMakeKey } from './key-file.js'
import { type GivenLimits, type LimitSources, readLimits } from './limit-options.js'
import {
  openSharedStore,
  PLACE_ENVIRONMENT,
  PLACE_OPTIONS,
  PLACE_USAGE,
  type PostgresPlace,
  parsePostgresPlace,
} from './postgres-place.js'
import { ProgramFailure } from './program-failure.js'
import { noteServed } from './served-file.js'
import { startServer } from './server.js'

export const SERVE_USAGE = `Usage: rowstash serve [--directory DIR | --memory | --postgres URL [--s3 URL]] [options]

Serves a store over HTTP until it gets SIGTERM or SIGINT (Ctrl-C).

  --directory DIR   where the data is kept; made if missing (default: ./rowstash-data)
  --memory          keep the data in memory; it is gone at the end
${PLACE_USAGE}
  --host HOST       the address to listen on (default: 127.0.0.1)
  --port PORT       the port, 0 for any free one (default: PORT, else 8080)
  --base-url URL    where clients reach the server, if a proxy stands before it
  --public-base-url URL
                    where everybody reaches the files, if they have a host name of their own,
                    which keeps them apart from the pages of all others (default: --base-url)
  --key KEY[=TEAM]  an API key, and the team whose tables it reaches; may be repeated
                    (default: ROWSTASH_KEY, else a key made at the first start and kept in
                    DIR/key; with --postgres, those of "rowstash keys add"; default team: default)
  --key-file FILE   a file of API keys, one a line, each written as KEY or KEY=TEAM; may be
                    repeated; a file that other users can read is refused. Keys of "rowstash keys
                    add" are known too
  --admin-key-file FILE
                    a file of keys for /metrics and /admin, one a line, as a scraper of metrics
                    needs one; a file that other users can read is refused (default: none but the
                    key that the commands of this machine use)
  --cors-origin ORIGIN
                    pages of this origin may use the API in a browser; may be repeated, "*" is
                    every origin (default: none)
  --app APPID       an app that exists; may be repeated (default: every app is known)
  --allow-private-sources
                    also fetch files from URLs of private addresses and other ports: for tests
                    and for networks that trust their users
  --trusted-proxy ADDRESS
                    the IP address of a proxy before the server, or a network such as 10.0.0.0/8;
                    clients are then told apart by X-Forwarded-For; may be repeated
  --keyless-per-address N
                    connections that one address may hold without a known key (default: 256); raise
                    it behind a proxy that passes on many reads of files
  --limit NAME=VALUE
                    a limit of the store or the server, such as stashesMax=100; may be repeated;
                    src/contract/LIMITS.md lists all names, units and defaults
  --limits FILE     a file of limits, as a JSON object such as { "stashesMax": 100 }
  --page            serve a page for people at /: it asks for an API key, shows tables and imports files
  --log             print a line of JSON for each answered request; it has no secret
  --accept-loss     start although commits are missing that the store had acknowledged, with what
                    is left; without it, such a store is refused and says what is missing
  -h, --help        show this text

Environment: PORT, ROWSTASH_KEY (written as KEY or KEY=TEAM), and a variable for each limit, such as
ROWSTASH_LIMIT_STASHES_MAX. If a limit is given several times, --limit counts first, then the variable,
then the file.
${PLACE_ENVIRONMENT}
`

const DIRECTORY_DEFAULT = './rowstash-data'
const HOST_DEFAULT = '127.0.0.1'
const PORT_DEFAULT = '8080'
/** As `adminKeys` of the handler demands. */
const ADMIN_KEY_CHARS_MIN = 16

/** Runs `rowstash serve` until the signal. @throws {ProgramFailure} */
export async function runServe(args: readonly string[], io: CommandIo): Promise<void> {
  const command = parseServeArgs(args, io.env)
  if (command === 'help') return io.print(SERVE_USAGE.trimEnd())
  const { directory, keyFiles, adminKeyFile, limitSources, ...settings } = command
  const limits = await readLimits(limitSources)
  const fileKeys = await readKeyFiles(keyFiles)
  const adminKeys = await readAdminKeys(adminKeyFile)
  const warn = (warning: string): void => io.warn(`rowstash: ${warning}`)
  const store = await openServed(command, limits.store, warn)
  const given: readonly SourcedKey[] = [...command.keys, ...fileKeys]
  const keys = given.length > 0 ? given : await keysOf(store, command, io)
  const adminKey = makeKey()
  const failures = new FailureLog((line) => io.warn(line))
  const server = await startServer(store, {
    ...settings,
    limits: limits.contract,
    connections: { ...limits.connections, ...settings.connections },
    keys: keys?.map(({ key, teamId }) => ({ key, teamId })),
    storedKeys: true,
    adminKeys: [adminKey, ...adminKeys],
    logger: command.log ? jsonLines(io) : undefined,
    onFailure: (failure) => failures.note(failure),
    onWarning: (warning) => io.warn(`rowstash: ${withSources(warning, given)}`),
  })
  try {
    const served = { url: server.localUrl, adminKey }
    const takeBack = directory === undefined ? null : await noteServed(directory, served, warn)
    io.print(`listening on ${server.url}`)
    await aborted(io.signal)
    await takeBack?.()
  } finally {
    const close = server.close().catch((failure: unknown) => {
      if (failure instanceof ProgramFailure) warn(failure.message) // The exit code tells the signal.
      throw failure
    })
    await close.finally(() => failures.close())
  }
}

/** Opens the store that is served. */
function openServed(
  { directory, postgres, allowPrivateSources, acceptLoss }: ServeCommand,
  limits: GivenLimits['store'],
  warn: (warning: string) => void,
): Promise<Store> {
  const sources = nodeSources({ allowPrivate: allowPrivateSources })
  if (postgres !== null) {
    return openSharedStore(postgres, { sources, onEvent: publishEvent, ...limits }, { warn })
  }
  return directory === undefined
    ? openMemory({ sources, ...limits })
    : openDirectory(directory, { sources, acceptLoss, ...limits })
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

/** Replaces the positions of keys in a warning by their sources. */
function withSources(warning: string, keys: readonly SourcedKey[]): string {
  return warning.replace(/\bkeys\[([0-9]+)\]/g, (place, index) => keys[index]?.source ?? place)
}

type ServeCommand = Readonly<{
  /** undefined: in memory, or in PostgreSQL. */
  directory: string | undefined
  /** null: elsewhere. */
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
  /** Limits that have options of their own, which count before the same limit elsewhere. */
  connections: ConnectionLimits
  trustedProxies: readonly string[]
  limitSources: LimitSources
  page: boolean
  log: boolean
  acceptLoss: boolean
}>

export function parseServeArgs(
  args: readonly string[],
  env: CommandIo['env'],
): ServeCommand | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      directory: { type: 'string' },
      memory: { type: 'boolean', default: false },
      ...PLACE_OPTIONS,
      host: { type: 'string', default: HOST_DEFAULT },
      port: { type: 'string' },
      'base-url': { type: 'string' },
      'public-base-url': { type: 'string' },
      key: { type: 'string', multiple: true },
      'key-file': { type: 'string', multiple: true },
      'admin-key-file': { type: 'string' },
      'cors-origin': { type: 'string', multiple: true },
      app: { type: 'string', multiple: true },
      'allow-private-sources': { type: 'boolean', default: false },
      'trusted-proxy': { type: 'string', multiple: true, default: [] },
      'keyless-per-address': { type: 'string' },
      limit: { type: 'string', multiple: true, default: [] },
      limits: { type: 'string' },
      page: { type: 'boolean', default: false },
      log: { type: 'boolean', default: false },
      'accept-loss': { type: 'boolean', default: false },
      help: HELP_OPTION,
    },
  })
  if (values.help) return 'help'
  const keyless = values['keyless-per-address']
  const portText = values.port ?? (env['PORT'] || PORT_DEFAULT)
  return {
    ...parsePlace(values, env),
    host: values.host,
    port: parseIntegerOption('--port', portText, 0, 65_535),
    baseUrl: parseBaseUrl('--base-url', values['base-url']),
    publicBaseUrl: parseBaseUrl('--public-base-url', values['public-base-url']),
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
    acceptLoss: values['accept-loss'],
  }
}

type PlaceValues = Parameters<typeof parsePostgresPlace>[0] &
  Readonly<{ directory?: string | undefined; memory: boolean; 'accept-loss': boolean }>

/** Where the store is. */
function parsePlace(
  values: PlaceValues,
  env: CommandIo['env'],
): Pick<ServeCommand, 'directory' | 'postgres'> {
  const { directory, memory } = values
  if (memory && directory !== undefined) {
    throw new ProgramFailure('usage', 'Give --directory or --memory, not both')
  }
  const postgres = parsePostgresPlace(values, env, {
    isElsewhere: memory || directory !== undefined,
  })
  if (postgres !== null && values['accept-loss']) {
    throw new ProgramFailure('usage', '--accept-loss is for a directory, not for --postgres')
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
    checkKey(path ?? '', key)
    if (key.length >= ADMIN_KEY_CHARS_MIN) continue
    const problem = `has an admin key of fewer than ${ADMIN_KEY_CHARS_MIN} characters`
    throw new ProgramFailure('usage', `The key file ${path} ${problem}`)
  }
  return keys
}

function parseCheckedKey(source: string, text: string): SourcedKey {
  const parsed = parseKey(text)
  checkKey(source, parsed.key)
  return { ...parsed, source }
}

/** Parses a key and its team. The team follows the last equals sign, because a key in base64 may contain some. */
export function parseKey(text: string): ContractKey {
  const [, key = text, teamId = TEAM_DEFAULT] = /^(.+)=([^=]+)$/.exec(text) ?? []
  return { key, teamId }
}

function parseBaseUrl(option: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && !/[?#]/.test(text)
  if (isPlain && url.username === '' && url.password === '') return url.href
  throw new ProgramFailure('usage', `${option} must be an http or https URL, not "${text}"`)
}

/** The keys of a server without given ones: those of the store, or one that is made. Closes the store if that fails. */
async function keysOf(
  store: Store,
  { directory, postgres }: ServeCommand,
  io: CommandIo,
): Promise<readonly ContractKey[] | undefined> {
  if (directory === undefined && postgres === null) {
    const key = makeKey()
    io.print(`key ${key}`)
    return [{ key, teamId: TEAM_DEFAULT }]
  }
  try {
    if (directory === undefined) return await storedKeys(store)
    const { key, path, isNew } = await readOrMakeKey(directory)
    io.print(isNew ? `key ${key} (kept in ${path})` : `key as in ${path}`)
    return [{ key, teamId: TEAM_DEFAULT }]
  } catch (failure) {
    await store.close()
    throw failure
  }
}

/** None are given: the processes of a store all know those that it keeps. @throws {ProgramFailure} if it keeps none */
async function storedKeys(store: Store): Promise<undefined> {
  if ((await store.keys.list()).length > 0) return undefined
  const problem = 'The store in PostgreSQL has no API key'
  const advice = `make one by "rowstash keys add", or give one by ${KEY_VARIABLE} or --key-file`
  throw new ProgramFailure('usage', `${problem}; ${advice}`)
}
