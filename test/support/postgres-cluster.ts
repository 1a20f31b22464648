// PostgreSQL as in production: a primary, a synchronous standby that can replace it, and PgBouncer before them. The
// environment names the programs, as `node test/postgres-debian.mjs` does.
import { execFile } from 'node:child_process'
import { appendFile, chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { addressIn, initialize, launchPostgres } from './postgres-server.js'
import { launch, makeFolder, type ServerProgram, unprivileged } from './server-program.js'

const BOUNCER_PORT = 6_432
const REPLICATION_MS_MAX = 60_000

/** Settings of both servers. Those of synchronous standbys are changed while they run. */
const SETTINGS = [
  'listen_addresses=',
  'max_connections=200',
  'shared_buffers=64MB',
  'log_min_messages=log',
  'log_checkpoints=off',
  'wal_retrieve_retry_interval=100ms', // How soon a standby that lost its primary can be promoted; 5 s by default.
]

export type PostgresPrograms = Readonly<{
  /** The folder of `postgres`, `initdb` and `pg_basebackup`. */
  bin: string
  pgBouncer: string
}>

/** The programs, or why there are none. */
export function findPrograms(): PostgresPrograms | string {
  const { ROWSTASH_POSTGRES_BIN: bin, ROWSTASH_PGBOUNCER: pgBouncer } = process.env
  if (bin !== undefined && pgBouncer !== undefined) return { bin, pgBouncer }
  return 'the environment names no PostgreSQL; run it with node test/postgres-debian.mjs'
}

/** One server: a primary, or a standby. */
export class PostgresNode {
  readonly url: string
  readonly socket: string
  readonly #bin: string
  readonly #data: string
  readonly #sockets: string
  readonly #settings: readonly string[]
  #server: ServerProgram | undefined

  constructor(folder: string, bin: string, isDurable: boolean) {
    this.#bin = bin
    this.#data = join(folder, 'data')
    this.#sockets = join(folder, 's')
    const { url, socket } = addressIn(this.#sockets)
    this.url = url
    this.socket = socket
    const durability = isDurable ? [] : ['fsync=off', 'full_page_writes=off']
    this.#settings = [...SETTINGS, ...durability, `unix_socket_directories=${this.#sockets}`]
  }

  static async create(folder: string, bin: string, isDurable: boolean): Promise<PostgresNode> {
    await makeFolder(folder)
    const node = new PostgresNode(folder, bin, isDurable)
    await makeFolder(node.#sockets)
    return node
  }

  /** Starts the server as the primary of a new cluster. */
  async lead(): Promise<void> {
    await makeFolder(this.#data)
    await initialize(this.#bin, this.#data)
    await this.#start()
  }

  /** Starts the server on a copy of a primary, whose commits wait for it from then on. */
  async follow(primary: PostgresNode): Promise<void> {
    await removeFolder(this.#data)
    await makeFolder(this.#data)
    await chmod(this.#data, 0o700)
    const source = `host=${primary.#sockets} user=rowstash dbname=postgres application_name=standby`
    const args = ['-D', this.#data, '-d', source, '-R', '-X', 'stream', '-c', 'fast', '--no-sync']
    const options = { ...unprivileged(), env: { LC_ALL: 'C' }, cwd: this.#data }
    await promisify(execFile)(join(this.#bin, 'pg_basebackup'), args, options)
    // When it is promoted, it has no standby yet. The last line of the file applies.
    await appendFile(join(this.#data, 'postgresql.auto.conf'), "synchronous_standby_names = ''\n")
    await this.#start()
    await primary.query("alter system set synchronous_standby_names = '*'")
    await primary.query('select pg_reload_conf()')
    await primary.#untilReplicated()
  }

  async promote(): Promise<void> {
    await this.query('select pg_promote(true, 60)')
  }

  /** Kills all its processes, like a failing machine. */
  async kill(): Promise<void> {
    const { pid = 0, ended } = this.#server ?? {}
    if (pid === 0) return
    process.kill(pid, 'SIGSTOP') // so that it starts no more processes
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
    for (const id of [...children.trim().split(' ').map(Number), pid]) killOne(id)
    await ended
    this.#server = undefined
  }

  async stop(): Promise<void> {
    await this.#server?.stop()
    this.#server = undefined
  }

  async query(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const client = new pg.Client({ connectionString: this.url })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(text)).rows
    } finally {
      await client.end()
    }
  }

  async #start(): Promise<void> {
    this.#server = await launchPostgres(this.#bin, this.#data, this.#settings)
  }

  async #untilReplicated(): Promise<void> {
    const deadline = performance.now() + REPLICATION_MS_MAX
    const text = "select count(*)::int as count from pg_stat_replication where sync_state = 'sync'"
    for (;;) {
      const [row] = await this.query(text)
      if (row?.['count'] === 1) return
      if (performance.now() > deadline) throw new Error('the standby does not follow')
      await sleep(50)
    }
  }
}

/** Killed processes may still be ending. */
function removeFolder(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}

function killOne(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}

export type PostgresCluster = Readonly<{
  primary: PostgresNode
  standby: PostgresNode
  /** The version of PostgreSQL, such as 15.18. */
  version: string
  /** Starts PgBouncer in transaction mode before the primary. */
  startBouncer(): Promise<Readonly<{ socket: string }>>
  stop(): Promise<void>
}>

/**
 * @param isDurable - Whether an acknowledged commit is on disk. Otherwise the cluster survives only the end of
 * processes.
 */
export async function startCluster(
  { bin, pgBouncer }: PostgresPrograms,
  { isDurable = false } = {},
): Promise<PostgresCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-pg-'))
  await chmod(folder, 0o755)
  const primary = await PostgresNode.create(join(folder, 'a'), bin, isDurable)
  const standby = await PostgresNode.create(join(folder, 'b'), bin, isDurable)
  const bouncers: ServerProgram[] = []
  const stop = async (): Promise<void> => {
    for (const bouncer of bouncers) await bouncer.stop()
    await Promise.all([primary.kill(), standby.kill()])
    await removeFolder(folder)
  }
  try {
    await primary.lead()
    await standby.follow(primary)
    const [row] = await primary.query('show server_version')
    const version = String(row?.['server_version']).split(' ')[0] ?? ''
    const startBouncer = async (): Promise<Readonly<{ socket: string }>> => {
      const own = join(folder, 'bouncer')
      await makeFolder(own)
      bouncers.push(await launchBouncer(pgBouncer, own, join(folder, 'a', 's')))
      return addressIn(own, BOUNCER_PORT)
    }
    return { primary, standby, version, startBouncer, stop }
  } catch (failure) {
    await stop()
    throw failure
  }
}

async function launchBouncer(
  program: string,
  folder: string,
  sockets: string,
): Promise<ServerProgram> {
  const configuration = [
    '[databases]',
    `postgres = host=${sockets} port=5432 dbname=postgres user=rowstash`,
    '[pgbouncer]',
    'pool_mode = transaction',
    'auth_type = any',
    'listen_addr =',
    `listen_port = ${BOUNCER_PORT}`,
    `unix_socket_dir = ${folder}`,
    'max_client_conn = 400',
    'default_pool_size = 20',
  ]
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(file, `${configuration.join('\n')}\n`)
  return launch(program, [file], { env: { LC_ALL: 'C' }, cwd: folder, ready: /process up/ })
}
