// How the commands in the documents are tested: listed ones are run, others are checked without running them.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { nodeHandler, openDirectory } from '../../adapters/node.js'
import { openMemory } from '../../src/index.js'
import { createTestServer } from '../conformance/testing.js'
import { startPostgres } from '../support/postgres-server.js'
import { projectFiles, ROOT, readText } from '../support/project.js'
import type { Block } from './blocks.js'

const run = promisify(execFile)

const KEY = 'a-long-random-text-of-the-host'

/** The commands of a block, without comments. A command continued on the next line is one. */
export function commandsOf({ text }: Block): string[] {
  const lines = text.replaceAll('\\\n', ' ').split('\n')
  return lines
    .map((line) => line.replace(/(?:^|\s+)# .*$/, '').trim())
    .filter((line) => line !== '')
}

export type Surroundings = Readonly<{
  folder: string
  /** The built command line. */
  cli: string
  onEnd(undo: () => Promise<unknown>): void
}>

export type Commands = Readonly<{
  document: string
  begins: string
  needs?: 'curl'
  run(commands: readonly string[], surroundings: Surroundings): Promise<void>
}>

type Package = Readonly<{
  name: string
  private?: boolean
  scripts: Readonly<Record<string, string>>
}>

export const PACKAGE = JSON.parse(readText('package.json')) as Package

/** Checks commands that would take too long to run: the npm script, or the file that node runs, must exist. */
export function checkCommands(commands: readonly string[]): void {
  for (const command of commands.flatMap((line) => line.split('&&'))) {
    const [program = '', ...args] = command.trim().split(/\s+/)
    if (program === 'npm') checkNpm(command, args)
    else if (program === 'node') checkNode(command, args[0] ?? '')
    else assert.fail(`"${command}" is in no list of commands, so nothing checks it`)
  }
}

function checkNpm(command: string, [verb = '', ...rest]: readonly string[]): void {
  if (verb === 'ci') {
    assert(existsSync(join(ROOT, 'package-lock.json')))
  } else if (verb === 'install') {
    assert.deepEqual([rest, PACKAGE.private], [[PACKAGE.name], undefined])
  } else {
    const script = verb === 'run' ? (rest[0] ?? '') : verb
    assert(PACKAGE.scripts[script] !== undefined, `there is no script for "${command}"`)
    if (script === 'bench') checkBench(command)
    checkChoice(command)
  }
}

const SUITES = JSON.parse(readText('test/rungs/ladder/suites.json')) as readonly Readonly<{
  id: string
  name: string
}>[]

/** Checks that the rungs or test files of a command exist; `<name>` stands for any name. */
export function checkChoice(command: string): void {
  const [, script = '', chosen = ''] =
    /^npm (?:run )?(test|test:rung) -- ([^-].*)$/.exec(command) ?? []
  const words = chosen.split(/\s+/).filter((word) => word !== '')
  const options = words.findIndex((word) => word.startsWith('-'))
  for (const word of options < 0 ? words : words.slice(0, options)) {
    const isThere =
      script === 'test'
        ? projectFiles().some((path) => path.endsWith('.test.ts') && isPathOf(word, path))
        : SUITES.some(({ id, name }) => word === id || word === name)
    assert(isThere, `there is no ${word} for "${command}"`)
  }
}

/** Whether vitest selects the file for the word: it searches the whole path. */
function isPathOf(word: string, path: string): boolean {
  return new RegExp(word.replaceAll('.', '\\.').replace(/<\w+>/g, '[\\w-]+')).test(path)
}

/** Checks that a file exists below the root; `<name>` stands for any name. */
function checkNode(command: string, file: string): void {
  const pattern = file.replaceAll('.', '\\.').replace(/<\w+>/g, '[\\w-]+')
  const isThere = projectFiles().some((path) => new RegExp(`^${pattern}$`).test(path))
  assert(isThere, `there is no file for "${command}"`)
}

/** Checks names and options against the usage of the benchmarks. */
function checkBench(command: string): void {
  const usage = readText('bench/run.mjs')
  const [, name = '', rest = ''] = /^npm run bench(?: -- (\w+)(.*))?$/.exec(command) ?? []
  assert.match(usage, new RegExp(`npm run bench -- (?:\\w+\\|)*${name}\\b`), command)
  for (const [option] of rest.matchAll(/--[\w-]+/g)) {
    assert(usage.includes(`  ${option} `), `${option} of "${command}"`)
  }
}

/** Runs a command in a folder. @returns its output */
async function shell(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { stdout } = await run('sh', ['-c', command], { cwd, env })
  return stdout
}

async function runUpload(
  commands: readonly string[],
  { folder, onEnd }: Surroundings,
): Promise<void> {
  const [create = '', put = '', complete = ''] = commands
  await writeFile(join(folder, 'cat.png'), 'a picture of a cat')
  const store = await openMemory()
  const server = createServer(nodeHandler(store, { keys: [{ key: KEY, teamId: 'acme' }] }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(async () => {
    await new Promise((resolve) => server.close(resolve))
    await store.close()
  })
  const env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    API: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    KEY,
  }
  const paste = async (command: string): Promise<Record<string, string>> => {
    const answer = JSON.parse(await shell(command, folder, env)) as { data?: NodeJS.Dict<string> }
    return (answer.data ?? {}) as Record<string, string>
  }

  Object.assign(env, await paste(create))
  assert.deepEqual(await paste(put), {})
  const { url = '' } = await paste(complete)

  assert.match(url, /\/files\/rsf-[^/]{32}\/cat\.png$/)
  assert.equal(await (await fetch(url)).text(), 'a picture of a cat')
}

/** A folder for PATH in which `rowstash` is the built command line. */
async function installCommand(folder: string, cli: string): Promise<string> {
  const bin = join(folder, 'bin')
  await mkdir(bin)
  const path = join(bin, 'rowstash')
  await writeFile(path, `#!/bin/sh\nexec '${process.execPath}' '${cli}' "$@"\n`)
  await chmod(path, 0o755)
  return bin
}

type Serving = Readonly<{ url: string; key: string }>

/** Starts the server of a command, and waits until it listens. */
async function serve(
  command: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
  onEnd: Surroundings['onEnd'],
): Promise<Serving> {
  const child = spawn('sh', ['-c', `exec ${command}`], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  onEnd(async () => {
    child.kill('SIGTERM')
    await exited
  })
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    const [, url] = /^listening on (\S+)$/.exec(line) ?? []
    if (url === undefined) continue
    const [, key = ''] = /^key (\S+)/m.exec(lines.join('\n')) ?? []
    return { url, key }
  }
  throw new Error(`The server ended before it was ready: ${lines.join('\n')}`)
}

async function runCommandLine(
  commands: readonly string[],
  { folder, cli, onEnd }: Surroundings,
): Promise<void> {
  const [serving = '', create = '', merge = ''] = commands
  const env = { PATH: `${await installCommand(folder, cli)}:${process.env['PATH']}` }
  await writeFile(join(folder, 'orders.csv'), 'id,total\n1,34.5\n2,12\n')
  await writeFile(join(folder, 'a.ndjson'), '{"id":3,"total":1}\n')
  await writeFile(join(folder, 'b.ndjson'), '{"id":4,"total":2}\n')
  assert(serving.endsWith(' --port 8080'), 'the other lines name this port')
  const { url, key } = await serve(serving.replace('8080', '0'), folder, env, onEnd)
  const import_ = async (command: string): Promise<string> => {
    assert(command.includes(' http://127.0.0.1:8080 '), command)
    const filled = command.replace('http://127.0.0.1:8080', url).replace(' KEY ', ` ${key} `)
    const printed = await shell(filled, folder, env)
    return /^table: (\S+)$/m.exec(printed)?.[1] ?? ''
  }
  const idsOf = async (table: string): Promise<number[]> => {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await fetch(`${url}/tables/${table}/rows`, { headers })
    return ((await answer.json()) as { data: { id: number }[] }).data.map(({ id }) => id)
  }

  const table = await import_(create)
  assert.deepEqual(await idsOf(table), [1, 2])
  assert.equal(await import_(merge.replace(' ID ', ` ${table} `)), table)
  assert.deepEqual(await idsOf(table), [1, 2, 3, 4])
}

async function runKeyCommands(
  commands: readonly string[],
  { folder, cli, onEnd }: Surroundings,
): Promise<void> {
  const [add = '', list = '', revoke = ''] = commands
  const env = { PATH: `${await installCommand(folder, cli)}:${process.env['PATH']}` }
  const directory = './rowstash-data'
  assert(add.includes(` --directory ${directory} `))
  const { url } = await serve(
    `rowstash serve --directory ${directory} --port 0`,
    folder,
    env,
    onEnd,
  )
  const key = (await shell(add, folder, env)).trim()
  const statusOf = async (method: string): Promise<number> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = method === 'POST' ? '[]' : null
    return (await fetch(`${url}/tables?name=x`, { method, headers, body })).status
  }

  assert.deepEqual([await statusOf('GET'), await statusOf('POST')], [200, 403])
  const listed = await shell(list, folder, env)
  assert.match(listed, /team acme {2}read {2}.*"monthly report"/)
  assert(!listed.includes(key.slice(-8)))
  const [id = ''] = listed.split(' ')
  await shell(revoke.replace('KEYID', id), folder, env)
  assert.equal(await statusOf('GET'), 404)
}

/** The database in the documents. */
const DATABASE = 'postgres://rowstash@db.internal:5432/rows'

/** Commands with a test server in place of that database; undefined if there is none. */
async function onPostgres(
  commands: readonly string[],
  { onEnd }: Surroundings,
): Promise<readonly string[] | undefined> {
  const server = await startPostgres()
  if (typeof server === 'string') return undefined
  onEnd(() => server.stop())
  assert(commands.some((command) => command.includes(DATABASE)))
  return commands.map((command) => command.replace(DATABASE, `'${server.url}'`))
}

async function runSharedCommands(
  commands: readonly string[],
  surroundings: Surroundings,
): Promise<void> {
  const { folder, cli, onEnd } = surroundings
  const placed = await onPostgres(commands, surroundings)
  if (placed === undefined) return
  const [variable = '', add = '', serving = '', ...others] = placed
  const [, url = ''] = /^export ROWSTASH_POSTGRES='(.*)'$/.exec(variable) ?? []
  const path = `${await installCommand(folder, cli)}:${process.env['PATH']}`
  const env = { PATH: path, ROWSTASH_POSTGRES: url }
  const key = (await shell(add, folder, env)).trim()
  assert(serving.endsWith(' --host 0.0.0.0 --port 8080'))
  const local = serving.replace('0.0.0.0', '127.0.0.1').replace('8080', '0')
  const served = await serve(local, folder, env, onEnd)
  const headers = { authorization: `Bearer ${key}` }
  assert.equal((await fetch(`${served.url}/tables`, { headers })).status, 200)
  const [verified, backedUp] = [await shell(others[0] ?? '', folder, env), others[1] ?? '']
  assert.match(verified, /nothing is damaged/)
  assert.match(await shell(backedUp, folder, env), /bytes in .*rows\.backup/)
}

async function runMoves(commands: readonly string[], surroundings: Surroundings): Promise<void> {
  const { folder, cli } = surroundings
  const placed = await onPostgres(commands, surroundings)
  if (placed === undefined) return
  const env = { PATH: `${await installCommand(folder, cli)}:${process.env['PATH']}` }
  const add = 'rowstash keys add --directory ./rowstash-data --label moved'
  await (await openDirectory(join(folder, 'rowstash-data'))).close()
  await shell(add, folder, env)
  for (const command of placed) assert.match(await shell(command, folder, env), /, verified\n$/)
  const again = add
    .replace('add', 'list')
    .replace('-data', '-again')
    .replace(/ --label.*/, '')
  assert.match(await shell(again, folder, env), /"moved"/)
}

/** The service in the documents. */
const SERVICE = 'http://127.0.0.1:8080'

/** A test server in place of that service, with these rows in the table "Orders". */
async function onService(
  commands: readonly string[],
  { folder, cli, onEnd }: Surroundings,
  rows: readonly Readonly<{ id: number }>[],
) {
  const server = await createTestServer()
  onEnd(() => server.close())
  const team = server.store.team('test')
  const { tableId } = await team.createTable({ name: 'Orders', rows })
  return {
    table: team.table(tableId),
    env: { PATH: `${await installCommand(folder, cli)}:${process.env['PATH']}` },
    placed: commands.map((command) => {
      return command.replace(` ${SERVICE} `, ` ${server.url} `).replace(' KEY ', ` ${server.key} `)
    }),
  }
}

async function runMoveFromService(
  commands: readonly string[],
  surroundings: Surroundings,
): Promise<void> {
  const { folder } = surroundings
  const { env, placed } = await onService(commands, surroundings, [{ id: 1 }, { id: 2 }])
  const [schema = '', pipe = '', list = ''] = placed
  for (const command of [schema, pipe]) assert(!command.includes(SERVICE), command)
  await shell(schema, folder, env)
  await shell(pipe, folder, env)
  assert.match(await shell(list, folder, env), /^\S+\t2\t.*\tOrders$/m)
}

async function runResumedImport(
  commands: readonly string[],
  surroundings: Surroundings,
): Promise<void> {
  const { folder } = surroundings
  await writeFile(join(folder, 'orders.csv'), 'id,total\n1,34.5\n2,12\n')
  const { table, env, placed } = await onService(commands, surroundings, [{ id: 1 }])
  const [check = '', resume = ''] = placed
  assert.match(await shell(check, folder, env), /^rows: 2\nproblems: 0$/m)
  const made = /^table: (\S+)$/m.exec(await shell(resume, folder, env))?.[1]
  const again = /^table: (\S+)$/m.exec(await shell(resume, folder, env))?.[1]
  assert(made !== undefined && made !== table.id)
  assert.equal(again, made)
}

async function runMaintenanceCommands(
  commands: readonly string[],
  { folder, cli }: Surroundings,
): Promise<void> {
  const env = { PATH: `${await installCommand(folder, cli)}:${process.env['PATH']}` }
  const store = await openDirectory(join(folder, 'data'))
  await store.team('acme').createTable({ name: 'Orders', rows: [{ id: 1 }] })
  await store.close()
  for (const command of commands) await shell(command, folder, env)

  const again = await openDirectory(join(folder, 'again'))
  assert.deepEqual(
    (await again.team('acme').tables()).map(({ name }) => name),
    ['Orders'],
  )
  await again.close()
}

/** A night with 20 older backups: 14 remain, and the new one equals the store. */
async function runNightlyBackup(
  commands: readonly string[],
  { folder, cli }: Surroundings,
): Promise<void> {
  const env = { PATH: `${await installCommand(folder, cli)}:${process.env['PATH']}` }
  await (await openDirectory(join(folder, 'data'))).close()
  await mkdir(join(folder, 'backups'))
  for (let day = 1; day <= 20; day++) {
    const date = `2020-01-${String(day).padStart(2, '0')}`
    await writeFile(join(folder, 'backups', `${date}.backup`), '')
  }
  for (const command of commands) await shell(command, folder, env)

  const kept = (await readdir(join(folder, 'backups'))).sort()
  assert.equal(kept.length, 14)
  assert.equal(kept[0], '2020-01-08.backup')
  await shell(`rowstash restore backups/${kept[13]} again`, folder, env)
}

/** Blocks that are run. */
export const COMMANDS: readonly Commands[] = [
  { document: 'src/guides/FILES.md', begins: 'curl -sS "$API/apps', needs: 'curl', run: runUpload },
  { document: 'README.md', begins: 'rowstash serve', run: runCommandLine },
  { document: 'src/guides/HOSTING.md', begins: 'rowstash keys add', run: runKeyCommands },
  {
    document: 'src/guides/SHARED-STORES.md',
    begins: 'export ROWSTASH_POSTGRES',
    run: runSharedCommands,
  },
  { document: 'src/guides/COMING-FROM.md', begins: 'rowstash schema', run: runMoveFromService },
  { document: 'src/guides/SHARED-STORES.md', begins: 'rowstash move', run: runMoves },
  { document: 'src/guides/IMPORTING.md', begins: 'rowstash import', run: runResumedImport },
  { document: 'src/guides/OPERATIONS.md', begins: 'rowstash backup', run: runMaintenanceCommands },
  { document: 'src/guides/OPERATIONS.md', begins: 'mkdir -p backups', run: runNightlyBackup },
]
