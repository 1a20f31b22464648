// Goal: `rowstash serve` accepts every limit in three ways, and names what it rejects.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { runServe } from '../../adapters/cli/commands/serve.js'
import { readLimits } from '../../adapters/cli/server/limit-options.js'
import { CONNECTION_LIMITS } from '../../adapters/http/connections.js'
import { CONTRACT_LIMITS } from '../../src/contract/memory/contract-limits.js'
import { MAINTENANCE_LIMITS, STORE_LIMITS } from '../../src/engine/arguments/resolve-options.js'

const KEY = 'a-key-that-is-long-enough'

async function fileOf(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-limits-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'limits.json')
  await writeFile(path, text)
  return path
}

const read = (options: readonly string[], env = {}, file?: string) =>
  readLimits({ options, env, file })

test('every limit can be given, at both ends of its range', async () => {
  const ranges = Object.entries({
    ...STORE_LIMITS,
    ...MAINTENANCE_LIMITS,
    ...CONTRACT_LIMITS,
    ...CONNECTION_LIMITS,
  })
  for (const end of ['min', 'max'] as const) {
    const expected = Object.fromEntries(ranges.map(([name, range]) => [name, range[end]]))
    const options = ranges.map(([name, range]) => `${name}=${range[end]}`)
    const file = await fileOf(JSON.stringify(expected))
    const variables = ranges.map(([name, range]) => [
      `ROWSTASH_LIMIT_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
      String(range[end]),
    ])
    for (const found of [
      await read(options),
      await read([], Object.fromEntries(variables)),
      await read([], {}, file),
    ]) {
      expect({
        ...found.store,
        ...found.maintenance,
        ...found.contract,
        ...found.connections,
      }).toEqual(expected)
      expect(Object.keys(found.store).length).toBe(Object.keys(STORE_LIMITS).length)
      expect(Object.keys(found.contract).length).toBe(Object.keys(CONTRACT_LIMITS).length)
    }
  }
})

test('--limit counts before a variable, and a variable before the file', async () => {
  const file = await fileOf('{ "stashesMax": 1, "tablesMax": 1, "columnsMax": 1 }')
  const env = { ROWSTASH_LIMIT_STASHES_MAX: '2', ROWSTASH_LIMIT_TABLES_MAX: '2' }

  const { store } = await read(['stashesMax=3'], env, file)

  expect(store).toEqual({ stashesMax: 3, tablesMax: 2, columnsMax: 1 })
})

test.each([
  [['stashMax=1'], '--limit stashMax is not a limit; LIMITS.md lists all names'],
  [['__proto__=1'], '--limit __proto__ is not a limit; LIMITS.md lists all names'],
  [['stashesMax'], '--limit must be written as NAME=VALUE, not "stashesMax"'],
  [['stashesMax='], '--limit stashesMax must be an integer from 0 to 1000000, not ""'],
  [['stashesMax=1e3'], '--limit stashesMax must be an integer from 0 to 1000000, not "1e3"'],
  [['waitMsMax=99'], '--limit waitMsMax must be an integer from 100 to 600000, not 99'],
  [['tablesMax=1', 'tablesMax=2'], '--limit tablesMax is given twice'],
])('%j is refused', async (options, message) => {
  await expect(read(options)).rejects.toMatchObject({ kind: 'usage', message })
})

test('a variable that names no limit, or a value that fits none, is refused', async () => {
  await expect(read([], { ROWSTASH_LIMIT_STASH_MAX: '1' })).rejects.toMatchObject({
    kind: 'usage',
    message: 'ROWSTASH_LIMIT_STASH_MAX does not name a limit',
  })
  await expect(read([], { ROWSTASH_LIMIT_TABLES_MAX: '-1' })).rejects.toMatchObject({
    kind: 'usage',
    message: 'ROWSTASH_LIMIT_TABLES_MAX must be an integer from 0 to 1000000, not "-1"',
  })
  expect(await read([], { ROWSTASH_LIMIT_TABLES_MAX: '', ROWSTASH_KEY: 'x' })).toEqual({
    store: {},
    maintenance: {},
    contract: {},
    connections: {},
  })
})

test.each([
  ['[]', 'must be a JSON object of names and integers'],
  ['{', 'is not JSON: '],
  ['{ "stashesMax": "3" }', '"stashesMax" must be an integer from 0 to 1000000, not "3"'],
  ['{ "stashesMax": 0.5 }', '"stashesMax" must be an integer from 0 to 1000000, not 0.5'],
  ['{ "x": 1 }', '"x" is not a limit; LIMITS.md lists all names'],
])('a file with %s is refused', async (text, problem) => {
  await expect(read([], {}, await fileOf(text))).rejects.toMatchObject({
    kind: 'usage',
    message: expect.stringContaining(problem),
  })
})

test('a file that is not there is refused', async () => {
  await expect(read([], {}, '/no/such/file')).rejects.toMatchObject({
    kind: 'usage',
    message: expect.stringContaining('--limits /no/such/file cannot be read: ENOENT'),
  })
})

test('a served store has the limits of its command line', async () => {
  const stop = new AbortController()
  let url = ''
  const listening = new Promise<void>((resolve) => {
    const io = {
      print(line: string) {
        url = line.replace('listening on ', '')
        if (url !== line) resolve()
      },
      warn: () => {},
      env: { ROWSTASH_LIMIT_TABLES_MAX: '1' },
      signal: stop.signal,
    }
    const limits = ['--limit', 'bodyBytesMax=2000', '--limit', 'requestsPerSecondPerKeyMax=3']
    const args = ['--memory', '--port', '0', '--key', KEY, ...limits]
    const running = runServe(args, io)
    onTestFinished(async () => {
      stop.abort()
      await running
    })
  })
  await listening
  vi.useFakeTimers({ toFake: ['performance'] }) // all requests within one second
  onTestFinished(() => void vi.useRealTimers())
  const post = async (body: string) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    return (await fetch(`${url}/tables`, { method: 'POST', headers, body })).status
  }
  const create = '{ "name": "T", "rows": [] }'

  expect(await post(create)).toBe(201)
  expect(await post(create)).toBe(403)
  expect(await post(create.padEnd(2_001))).toBe(413)
  expect(await post(create)).toBe(429)
})
