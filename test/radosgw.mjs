// Starts Ceph's S3 server for the tests that need a real one, runs a command, and stops it:
//
//     node test/radosgw.mjs npm test -- test/conformance/s3-server.test.ts
//
// The command finds the server by ROWSTASH_S3_ENDPOINT, ROWSTASH_S3_BUCKET, ROWSTASH_S3_ACCESS_KEY and
// ROWSTASH_S3_SECRET_KEY. Without a command, the server runs until Ctrl-C, and these are printed. Everything is in a
// temporary directory, which is removed at the end. Where the programs of Ceph are missing, root gets them with apt-get.
import { execFile, execFileSync, spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { AwsV4Signer } from 'aws4fetch'

const PACKAGES = ['ceph-mon', 'ceph-osd', 'ceph-mgr', 'ceph-common', 'radosgw']
const BUCKET = 'rowstash-test'
const BLOCK_BYTES = 6 * 1024 ** 3 // A sparse file.
const READY_MS_MAX = 120_000
const STEP_MS_MAX = 60_000
const STOP_MS_MAX = 10_000

const run = promisify(execFile)
const daemons = []
const startedAt = performance.now()

function say(text) {
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  process.stderr.write(`radosgw: ${text} (${seconds} s)\n`)
}

function hasPrograms() {
  try {
    for (const program of ['ceph-mon', 'ceph-osd', 'ceph-mgr', 'ceph', 'radosgw']) {
      execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    }
    return true
  } catch {
    return false
  }
}

function install() {
  const command = `apt-get install -y --no-install-recommends ${PACKAGES.join(' ')}`
  if (process.getuid?.() !== 0) {
    throw new Error(`the programs of Ceph are missing; as root, run: ${command}`)
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  execFileSync('sh', ['-c', `apt-get update && ${command}`], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 600_000,
  })
  say('installed the packages')
}

async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer())
  const ports = []
  for (const server of servers) {
    await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
    ports.push(server.address().port)
  }
  for (const server of servers) await new Promise((closed) => server.close(closed))
  return ports
}

function configuration(folder, fsid, [messenger, legacy]) {
  return `[global]
fsid = ${fsid}
mon host = [v2:127.0.0.1:${messenger},v1:127.0.0.1:${legacy}]
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc secure
ms bind ipv6 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
run dir = ${folder}
admin socket = ${folder}/$name.$pid.asok
pid file = ${folder}/$name.pid
log file = ${folder}/$name.log
crash dir = ${folder}/crash
mon data = ${folder}/mon
mon cluster log file = ${folder}/cluster.log
mgr data = ${folder}/mgr
mgr initial modules =
osd data = ${folder}/osd
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd max object name len = 460
osd max object namespace len = 64
mon allow pool size one = true
mon data avail warn = 1
mon data avail crit = 0
bluestore block size = ${BLOCK_BYTES}
rgw data = ${folder}/rgw
rgw dns name =
rgw num rados handles = 1
`
}

function daemon(program, args) {
  const child = spawn(program, [...args, '-f'], { stdio: 'ignore' })
  child.once('exit', (code, signal) => {
    if (!isStopping) say(`${program} has ended, ${signal ?? code}`)
  })
  child.once('error', () => undefined)
  daemons.push(child)
}

let isStopping = false

async function stop(folder) {
  isStopping = true
  for (const child of daemons.reverse()) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL') // its data is removed next
    await Promise.race([ended, sleep(STOP_MS_MAX)])
  }
  await rm(folder, { recursive: true, force: true })
}

async function start(folder) {
  const [messenger, legacy, port] = await freePorts(3)
  const fsid = randomUUID()
  const file = join(folder, 'ceph.conf')
  await writeFile(file, configuration(folder, fsid, [messenger, legacy]))
  const conf = ['--conf', file]
  const step = (program, args) => run(program, [...conf, ...args], { timeout: STEP_MS_MAX })
  for (const name of ['mgr', 'osd', 'rgw']) await mkdir(join(folder, name))
  const map = join(folder, 'monmap')
  const address = `[v2:127.0.0.1:${messenger},v1:127.0.0.1:${legacy}]`
  await run('monmaptool', ['--create', '--fsid', fsid, '--addv', 'a', address, map])
  await step('ceph-mon', ['--mkfs', '-i', 'a', '--monmap', map])
  daemon('ceph-mon', [...conf, '-i', 'a'])
  const disk = randomUUID()
  await step('ceph', ['osd', 'new', disk, '0'])
  say('the monitor runs')
  daemon('ceph-mgr', [...conf, '-i', 'x'])
  await step('ceph-osd', ['-i', '0', '--mkfs', '--osd-uuid', disk])
  daemon('ceph-osd', [...conf, '-i', '0'])
  say('the disk runs')
  const frontend = `beast endpoint=127.0.0.1:${port} tcp_nodelay=1`
  daemon('radosgw', [...conf, '-n', 'client.rgw', '--rgw-frontends', frontend])
  const keys = { id: randomBytes(10).toString('hex'), secret: randomBytes(20).toString('hex') }
  await step('radosgw-admin', [
    ...['user', 'create', '--uid', 'rowstash', '--display-name', 'rowstash'],
    ...['--access-key', keys.id, '--secret-key', keys.secret],
  ])
  const endpoint = `http://127.0.0.1:${port}`
  await createBucket(endpoint, keys)
  return {
    ROWSTASH_S3_ENDPOINT: endpoint,
    ROWSTASH_S3_BUCKET: BUCKET,
    ROWSTASH_S3_ACCESS_KEY: keys.id,
    ROWSTASH_S3_SECRET_KEY: keys.secret,
  }
}

/** Repeated until the server is up. */
async function createBucket(endpoint, { id, secret }) {
  const until = performance.now() + READY_MS_MAX
  for (;;) {
    const signer = new AwsV4Signer({
      method: 'PUT',
      url: `${endpoint}/${BUCKET}`,
      accessKeyId: id,
      secretAccessKey: secret,
      service: 's3',
      region: 'us-east-1',
    })
    const { url, headers } = await signer.sign()
    const answer = await fetch(url, { method: 'PUT', headers }).catch(() => undefined)
    if (answer?.ok) return
    if (performance.now() > until)
      throw new Error(`no bucket: ${(await answer?.text()) ?? 'no server'}`)
    await sleep(100)
  }
}

/** @returns the exit code */
function execute([program, ...args], env) {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...env } })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)))
  })
}

/** The first signal ends the wait, and the caller then stops the server. */
function signalled() {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => resolve(0))
  })
}

const command = process.argv.slice(2)
const interrupted = signalled()
if (!hasPrograms()) install()
const folder = await mkdtemp(join(tmpdir(), 'rowstash-ceph-'))
try {
  const env = await start(folder)
  say(`the server runs at ${env.ROWSTASH_S3_ENDPOINT}`)
  if (command.length === 0) {
    for (const [name, value] of Object.entries(env))
      process.stdout.write(`export ${name}=${value}\n`)
    await interrupted
  } else {
    process.exitCode = await Promise.race([execute(command, env), interrupted])
  }
} finally {
  await stop(folder)
}
process.exit()
