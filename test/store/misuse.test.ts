// Goal: whatever a caller passes to a public function, the call works or fails with a StoreError that tells what to do.
// It never fails with an internal error, and never crashes.

import { createReadStream, existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MemoryLevel } from 'memory-level'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import * as node from '../../adapters/node.js'
import * as core from '../../src/index.js'
import type { ContractRequest, KvStore, RestorePorts } from '../../src/ports.js'
import { contractSources, SOURCE_URLS } from '../conformance/fake-sources.js'

const KEYS = [{ key: 'a-long-random-text-of-the-host', teamId: 'team' }]

/** Values of each type, including empty texts and objects. */
const WRONG: readonly (readonly [name: string, make: () => unknown])[] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['true', () => true],
  ['0', () => 0],
  ['-1', () => -1],
  ['0.5', () => 0.5],
  ['NaN', () => Number.NaN],
  ['1n', () => 1n],
  ["''", () => ''],
  ["'x'", () => 'x'],
  ['a text with a NUL', () => 'a\0b'],
  ['a lone surrogate', () => '\ud800'],
  ['a symbol', () => Symbol('s')],
  ['{}', () => ({})],
  ['an object without a prototype', () => Object.create(null)],
  ['[]', () => []],
  ['[1]', () => [1]],
  ['[null]', () => [null]],
  ['an array with a hole', () => new Array(1)],
  ['iterators that are none', () => ({ [Symbol.iterator]: 5, [Symbol.asyncIterator]: 5 })],
  ['a function', () => () => undefined],
  ['a promise', () => Promise.resolve({})],
  ['a date', () => new Date(0)],
  ['a map', () => new Map([['a', 1]])],
  ['bytes', () => new Uint8Array(3)],
  ['a URL', () => new URL('https://example.com/x')],
]

let folder: string
let counter = 0
const before = process.cwd()
let store: core.Store
let team: core.Team
let table: core.Table
let overwritten: core.Table
let keyed: core.Table
let rowId: string
let jobId: string
let file: core.OpenFile
let level: KvStore

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-misuse-'))
  process.chdir(folder)
  store = await core.openMemory({ sources: contractSources })
  team = store.team('team')
  const made = await team.createTable({ name: 'x', rows: [{ a: 1 }] })
  table = team.table(made.tableId)
  overwritten = team.table((await team.createTable({ name: 'x', rows: [{ a: 1 }] })).tableId)
  const ofKey = await team.createTable({ name: 'x', rows: [{ a: 1 }], key: ['a'] })
  keyed = team.table(ofKey.tableId)
  rowId = made.rowIds.get(0)
  const { id } = await team.files.put('x', { fileName: 'x.txt', contentType: 'text/plain' })
  jobId = (await team.startJob({ import: { fromUrl: SOURCE_URLS.csv } })).id
  const found = await team.files.get(id)
  if (found === null) throw new Error('the file is there')
  file = found
  level = await core.openLevelKv(new MemoryLevel())
})

afterAll(async () => {
  process.chdir(before)
  await store.close()
  await level.close()
  await rm(folder, { recursive: true, force: true })
})

const newPath = (): string => join(folder, `made-${counter++}`)
const pieces = async function* (): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(1)
}

type Call = Readonly<{
  call: (...given: never[]) => unknown
  /** Valid arguments. */
  args: () => readonly unknown[]
  /** Names of an argument's members, by the argument's position. */
  members: Readonly<Record<number, string>>
}>

function call(
  use: (...given: never[]) => unknown,
  args: () => readonly unknown[],
  members: Call['members'] = {},
): Call {
  return { call: use, args, members }
}

/** Two ports that nobody closes. */
function ports(): RestorePorts {
  const partition: KvStore['partition'] = (name) => level.partition(name)
  const kv = { shared: false, versionBase: 2 ** 40, partition, close: async () => undefined }
  return { kv, objects: core.memoryObjects() }
}

const STORE_OPTIONS = 'stashTtlMs compression formatChecks clock random sources quota'
const CONTRACT_OPTIONS =
  'keys authenticate adminKeys apps baseUrl publicBaseUrl logger registry moreMetrics onFailure onWarning'
const NAMES = 'fileName contentType'
const CELLS = 'onSchemaError idempotencyKey receipt'

/** A Fastify instance that accepts every registration. */
const FASTIFY: node.FastifyScope = {
  prefix: '',
  removeAllContentTypeParsers: () => undefined,
  addContentTypeParser: () => undefined,
  all: () => undefined,
}

const LIBRARY: Readonly<Record<string, Call>> = {
  defineSchema: call(
    (definition) => core.defineSchema(definition),
    () => [{ columns: { a: 'string' } }],
    { 0: 'columns validator' },
  ),
  openMemory: call(
    (options) => core.openMemory(options),
    () => [{}],
    { 0: `${STORE_OPTIONS} kv` },
  ),
  openStore: call(
    (options) => core.openStore(options),
    () => [ports()],
    { 0: `${STORE_OPTIONS} kv objects afterClose` },
  ),
  openLevelKv: call(
    (source, options) => core.openLevelKv(source, options),
    () => [new MemoryLevel(), {}],
    { 1: 'commitRecordsMin written highWater acceptLoss durability flushMs' },
  ),
  createContract: call(
    (given, options) => core.createContract(given, options),
    () => [store, { keys: KEYS }],
    { 1: CONTRACT_OPTIONS },
  ),
  fetchHandler: call(
    (given, options) => core.fetchHandler(given, options),
    () => [store, { keys: KEYS }],
    { 1: `${CONTRACT_OPTIONS} basePath clientOf` },
  ),
  restoreBackup: call(
    (source, target) => core.restoreBackup(source, target),
    () => [store.backup(), { open: async () => ports() }],
    { 1: 'open files' },
  ),
  kvObjects: call(
    (kv) => core.kvObjects(kv),
    () => [level],
  ),
  isStoreError: call(
    (failure) => core.isStoreError(failure),
    () => [new Error('x')],
  ),
}

const NODE: Readonly<Record<string, Call>> = {
  openDirectory: call(
    (path, options) => node.openDirectory(path, options),
    () => [newPath(), {}],
    { 1: 'compression sources kv acceptLoss durability flushMs' },
  ),
  nodeHandler: call(
    (given, options) => node.nodeHandler(given, options),
    () => [store, { keys: KEYS }],
    { 1: `${CONTRACT_OPTIONS} basePath` },
  ),
  fastifyPlugin: call(
    (given, options) => node.fastifyPlugin(given, options)(FASTIFY),
    () => [store, { keys: KEYS }],
    { 1: CONTRACT_OPTIONS },
  ),
  startServer: call(
    async (given, options) => (await node.startServer(given, options)).close(0),
    () => [store, { keys: KEYS, port: 0 }],
    { 1: `${CONTRACT_OPTIONS} basePath host port connections` },
  ),
  hardenServer: call(
    (server, limits) => node.hardenServer(server, limits),
    () => [createServer(), {}],
    { 1: 'connectionsMax keylessPerAddressMax' },
  ),
  closeServer: call(
    (server, graceMs) => node.closeServer(server, graceMs),
    () => [node.hardenServer(createServer()), 1],
  ),
  nodeSources: call(
    (options) => node.nodeSources(options),
    () => [{}],
    { 0: 'allowPrivate ports connectTimeoutMs ca lookup' },
  ),
  backupToFile: call(
    (given, path, options) => node.backupToFile(given, path, options),
    () => [store, newPath(), {}],
    { 2: 'files signal' },
  ),
  restoreDirectory: call(
    (path, backup, options) => node.restoreDirectory(path, backup, options),
    () => [newPath(), store.backup(), {}],
    { 2: 'filesFrom signal' },
  ),
}

const STORE: Readonly<Record<string, Call>> = {
  team: call(
    (id) => store.team(id),
    () => ['team'],
  ),
  teams: call(
    () => store.teams(),
    () => [],
  ),
  verify: call(
    (options) => store.verify(options),
    () => [{}],
    { 0: 'full signal onFinding onProgress' },
  ),
  backup: call(
    (options) => store.backup(options),
    () => [{}],
    { 0: 'files signal' },
  ),
}

const PUBLIC_FILES: Readonly<Record<string, Call>> = {
  receive: call(
    (request) => store.files.receive(request),
    () => [
      { uploadId: 'x', query: '', contentType: 'text/plain', contentLength: 1, body: pieces() },
    ],
    { 0: 'uploadId query contentType contentLength checksums body' },
  ),
  open: call(
    (id) => store.files.open(id),
    () => [file.id],
  ),
}

const TEAM: Readonly<Record<string, Call>> = {
  createTable: call(
    (request) => team.createTable(request),
    () => [{ name: 'y', rows: [] }],
    { 0: `name schema rows ${CELLS}` },
  ),
  preflight: call(
    (request) => team.preflight(request),
    () => [{ name: 'y', rows: [] }],
    { 0: `name schema rows ${CELLS}` },
  ),
  transaction: call(
    (run) => team.transaction(run),
    () => [async () => undefined],
  ),
  importTable: call(
    (request) => team.importTable(request),
    () => [{ fromUrl: SOURCE_URLS.csv }],
    { 0: 'fromUrl name format onSchemaError' },
  ),
  startJob: call(
    (request) => team.startJob(request).then((job) => job.wait()),
    () => [{ import: { fromUrl: SOURCE_URLS.csv } }],
    { 0: 'create overwrite import note' },
  ),
  job: call(
    (id) => team.job(id).status(),
    () => [jobId],
  ),
  table: call(
    (id) => team.table(id).version(),
    () => [table.id],
  ),
  stash: call(
    (id) => team.stash(id).delete(),
    () => ['stash'],
  ),
  ensureTable: call(
    (request) => team.ensureTable(request),
    () => [{ name: 'z', schema: { columns: [{ id: 'a', type: 'number' }] }, key: ['a'] }],
  ),
  tableByName: call(
    (name) => team.tableByName(name),
    () => ['x'],
  ),
  tablesByName: call(
    (name) => team.tablesByName(name),
    () => ['x'],
  ),
}

import { turns } from '../support/until.js'

const JOB: Readonly<Record<string, Call>> = {
  wait: call(
    (milliseconds) => team.job(jobId).wait(milliseconds),
    () => [1],
  ),
}

const STASH: Readonly<Record<string, Call>> = {
  put: call(
    (serial, rows) => team.stash('stash').put(serial, rows),
    () => ['0', []],
  ),
}

const TABLE: Readonly<Record<string, Call>> = {
  addRows: call(
    (rows, options) => table.addRows(rows, options),
    () => [[], {}],
    { 1: CELLS },
  ),
  overwrite: call(
    (request) => overwritten.overwrite(request),
    () => [{ rows: [{ a: 1 }] }],
    { 0: 'schema rows ifMatch onSchemaError receipt author note' },
  ),
  merge: call(
    (request) => overwritten.merge(request),
    () => [{ rows: [{ a: 1 }], key: ['a'] }],
    { 0: 'rows key missing unnamed ifMatch onSchemaError idempotencyKey receipt dryRun signal' },
  ),
  preflight: call(
    (request) => table.preflight(request),
    () => [{ rows: [{ a: 1 }] }],
    { 0: 'schema rows ifMatch onSchemaError receipt' },
  ),
  'preflight of a conversion': call(
    (request) => table.preflight(request),
    () => [{ convert: { column: 'a', type: 'number' } }],
    { 0: 'convert ifMatch signal' },
  ),
  receipt: call(
    (version) => table.receipt(version),
    () => [1],
  ),
  change: call(
    (version) => table.change(version),
    () => [1],
  ),
  page: call(
    (request) => table.page(request),
    () => [{}],
    { 0: 'limit continuation numbers where columns from orderBy total' },
  ),
  pageBytes: call(
    (request) => table.pageBytes(request),
    () => [{}],
    { 0: 'limit continuation memory' },
  ),
  findBytes: call(
    (request) => table.findBytes(request),
    () => [{}],
    { 0: 'limit continuation where columns from orderBy total reserve' },
  ),
  pageVersion: call(
    (request) => table.pageVersion(request),
    () => [{}],
    { 0: 'limit continuation where columns from orderBy total' },
  ),
  find: call(
    (where, options) => table.find(where, options),
    () => [{}, {}],
    { 0: 'a $and $or $not', 1: 'columns from orderBy limit numbers signal' },
  ),
  count: call(
    (where, options) => table.count(where, options),
    () => [{}, {}],
    { 0: 'a $and $or $not', 1: 'signal' },
  ),
  groups: call(
    (request) => table.groups(request),
    () => [{ by: [] }],
    { 0: 'by sum least greatest where search limit signal numbers' },
  ),
  groupsJson: call(
    (request) => table.groupsJson(request),
    () => [{ by: [] }],
    { 0: 'by sum least greatest where search limit signal' },
  ),
  getMany: call(
    (rowIds, options) => table.getMany(rowIds, options),
    () => [[rowId], {}],
    { 1: 'numbers' },
  ),
  openPage: call(
    (request) => table.openPage(request),
    () => [{}],
    { 0: 'limit continuation reserve' },
  ),
  scan: call(
    (options) => table.scan(options),
    () => [{}],
    { 0: 'numbers where columns from orderBy limit signal' },
  ),
  get: call(
    (id, options) => table.get(id, options),
    () => [rowId, {}],
    { 1: 'numbers' },
  ),
  getJson: call(
    (id) => table.getJson(id),
    () => [rowId],
  ),
  getJsonByKey: call(
    (texts) => keyed.getJsonByKey(texts),
    () => [{ a: '1' }],
  ),
  updateRow: call(
    (id, cells, options) => table.updateRow(id, cells, options),
    () => [rowId, { a: 2 }, {}],
    { 2: 'ifMatch onSchemaError' },
  ),
  updateRowJson: call(
    (id, json, options) => table.updateRowJson(id, json, options),
    () => [rowId, '{"a":2}', {}],
    { 2: 'ifMatch onSchemaError' },
  ),
  updateRows: call(
    (updates, options) => table.updateRows(updates, options),
    () => [[{ rowId, cells: { n: 1 }, ifMatch: undefined }], { onSchemaError: undefined }],
    { 1: 'onSchemaError idempotencyKey requestDigest author note' },
  ),
  log: call(
    (request) => table.log(request),
    () => [{ since: 0, limit: 1 }],
  ),
  watchLog: call(
    (request) => Promise.race([table.watchLog(request).next(), turns()]), // It may wait for a change.
    () => [{ since: 1 }],
    { 0: 'since signal' },
  ),
  changes: call(
    (request) => table.changes(request),
    () => [{ since: 1 }],
    { 0: 'since signal' },
  ),
  watch: call(
    (request) => table.watch(request),
    () => [{}],
    { 0: 'since signal' },
  ),
  at: call(
    async (version) => table.at(version),
    () => [1],
  ),
  deleteRows: call(
    (ids, options) => overwritten.deleteRows(ids, options),
    () => [['x', { rowId: 'y', ifMatch: 1 }], {}],
    { 1: 'signal idempotencyKey requestDigest author note' },
  ),
  deleteRow: call(
    (id, options) => overwritten.deleteRow(id, options),
    () => [rowId, {}],
    { 1: 'author note' },
  ),
  toCSV: call(
    (options) => table.toCSV(options).next(),
    () => [{}],
    { 0: 'where columns orderBy limit signal' },
  ),
  toNDJSON: call(
    (options) => table.toNDJSON(options).next(),
    () => [{}],
    { 0: 'where columns orderBy limit signal' },
  ),
  openExport: call(
    (request) => table.openExport(request),
    () => [{ format: 'csv' }],
    { 0: 'where search columns orderBy limit signal format at' },
  ),
  rename: call(
    (name, options) => table.rename(name, options),
    () => ['x', {}],
    { 1: 'ifMatch' },
  ),
  alter: call(
    (request) => table.alter(request),
    () => [{ name: 'x' }],
    { 0: 'name schema ifMatch' },
  ),
  delete: call(
    async (options) => {
      const { tableId } = await team.createTable({ name: 'doomed', rows: [] })
      return team.table(tableId).delete(options)
    },
    () => [{}],
    { 0: 'ifMatch' },
  ),
}

const FILES: Readonly<Record<string, Call>> = {
  put: call(
    (content, about) => team.files.put(content, about),
    () => ['x', { fileName: 'x', contentType: 'text/plain' }],
    { 1: `${NAMES} contentLength` },
  ),
  fromUrl: call(
    (url, about) => team.files.fromUrl(url, about),
    () => ['https://example.com/', {}],
    { 1: NAMES },
  ),
  createUpload: call(
    (about) => team.files.createUpload(about),
    () => [{ fileName: 'x', contentType: 'text/plain' }],
    { 0: `${NAMES} contentLength appId owner` },
  ),
  completeUpload: call(
    (id, about) => team.files.completeUpload(id, about),
    () => ['x', {}],
    { 1: 'appId' },
  ),
  list: call(
    (request) => team.files.list(request),
    () => [{ limit: 2 }],
    { 0: 'limit continuation' },
  ),
  uploads: call(
    () => team.files.uploads(),
    () => [],
  ),
  get: call(
    (id) => team.files.get(id),
    () => [file.id],
  ),
  stat: call(
    (id) => team.files.stat(id),
    () => [file.id],
  ),
  delete: call(
    (id) => team.files.delete(id),
    () => ['x'],
  ),
}

const FILE: Readonly<Record<string, Call>> = {
  stream: call(
    (range) => file.stream(range),
    () => [{ start: 0, limit: 1 }],
    { 0: 'start limit' },
  ),
  readable: call(
    (range) => file.readable(range),
    () => [{ start: 0, limit: 1 }],
    { 0: 'start limit' },
  ),
}

/** Reads to the end, or closes, what a call returned. */
async function finish(result: unknown): Promise<void> {
  const value = await result
  if (typeof value !== 'object' || value === null) return
  if (Symbol.asyncIterator in value) {
    for await (const piece of value as AsyncIterable<unknown>) void piece
  } else if ('verify' in value && value !== store) {
    await (value as core.Store).close()
  }
}

/** Every call with one argument, or one member of an argument, replaced by a wrong value. */
function* misuses({ args, members }: Call): Generator<{ what: string; given: unknown[] }> {
  for (const [at, right] of args().entries()) {
    for (const [name, make] of WRONG) {
      yield { what: `${at}: ${name}`, given: args().with(at, make()) }
      for (const member of members[at]?.split(' ') ?? []) {
        const replaced = { ...(right as object), [member]: make() }
        yield { what: `${at}.${member}: ${name}`, given: args().with(at, replaced) }
      }
    }
  }
}

/** The wrong values that a call accepts. All other unexpected outcomes are in `broken`. */
async function misuse(one: Call): Promise<{ taken: string[]; broken: string[] }> {
  const taken: string[] = []
  const broken: string[] = []
  for (const { what, given } of misuses(one)) {
    try {
      await finish((one.call as (...given: unknown[]) => unknown)(...given))
      taken.push(what)
    } catch (failure) {
      const isOurs = core.isStoreError(failure) && !(failure.cause instanceof TypeError)
      if (!isOurs || failure.code === 'STORAGE_UNAVAILABLE') broken.push(`${what}: ${failure}`)
    }
  }
  return { taken, broken }
}

const GROUPS = { LIBRARY, NODE, STORE, PUBLIC_FILES, TEAM, JOB, STASH, TABLE, FILES, FILE }

const takenBy: Record<string, string> = {}

describe.each(Object.entries(GROUPS))('%s', (group, calls) => {
  test.each(Object.entries(calls))(
    '%s takes no wrong value, or says what is wrong',
    async (name, one) => {
      const { taken, broken } = await misuse(one)
      takenBy[`${group} ${name}`] = taken.join(' | ')

      expect(broken).toEqual([])
    },
  )
})

test('these of the wrong values are accepted', () => {
  expect(takenBy).toMatchInlineSnapshot(`
    {
      "FILE readable": "0: undefined | 0: null | 0.start: 0 | 0.limit: 0",
      "FILE stream": "0: undefined | 0: null | 0.start: 0 | 0.limit: 0",
      "FILES completeUpload": "",
      "FILES createUpload": "0.contentLength: undefined | 0.appId: undefined | 0.owner: undefined | 0.contentLength: 0 | 0.fileName: 'x' | 0.appId: 'x' | 0.owner: 'x' | 0.fileName: a text with a NUL | 0.appId: a text with a NUL | 0.owner: a text with a NUL | 0.fileName: a lone surrogate",
      "FILES delete": "0: '' | 0: 'x' | 0: a text with a NUL | 0: a lone surrogate",
      "FILES fromUrl": "",
      "FILES get": "0: '' | 0: 'x' | 0: a text with a NUL | 0: a lone surrogate",
      "FILES list": "0: undefined | 0.limit: undefined | 0.continuation: undefined | 0: {} | 0: an object without a prototype | 0: iterators that are none",
      "FILES put": "0: '' | 0: 'x' | 0: a text with a NUL | 0: a lone surrogate | 0: bytes | 1.contentLength: undefined | 1.fileName: 'x' | 1.fileName: a text with a NUL | 1.fileName: a lone surrogate",
      "FILES stat": "0: '' | 0: 'x' | 0: a text with a NUL | 0: a lone surrogate",
      "FILES uploads": "",
      "JOB wait": "0: undefined | 0: 0 | 0: 0.5",
      "LIBRARY createContract": "1.authenticate: undefined | 1.adminKeys: undefined | 1.apps: undefined | 1.baseUrl: undefined | 1.publicBaseUrl: undefined | 1.logger: undefined | 1.registry: undefined | 1.moreMetrics: undefined | 1.onFailure: undefined | 1.onWarning: undefined | 1.adminKeys: [] | 1.apps: [] | 1.moreMetrics: [] | 1.keys: an array with a hole | 1.apps: an array with a hole | 1.onFailure: a function | 1.onWarning: a function",
      "LIBRARY defineSchema": "0.validator: undefined | 0.columns: {} | 0.columns: an object without a prototype | 0.columns: iterators that are none",
      "LIBRARY fetchHandler": "1.authenticate: undefined | 1.adminKeys: undefined | 1.apps: undefined | 1.baseUrl: undefined | 1.publicBaseUrl: undefined | 1.logger: undefined | 1.registry: undefined | 1.moreMetrics: undefined | 1.onFailure: undefined | 1.onWarning: undefined | 1.basePath: undefined | 1.clientOf: undefined | 1.basePath: '' | 1.adminKeys: [] | 1.apps: [] | 1.moreMetrics: [] | 1.keys: an array with a hole | 1.apps: an array with a hole | 1.onFailure: a function | 1.onWarning: a function | 1.clientOf: a function",
      "LIBRARY isStoreError": "0: undefined | 0: null | 0: true | 0: 0 | 0: -1 | 0: 0.5 | 0: NaN | 0: 1n | 0: '' | 0: 'x' | 0: a text with a NUL | 0: a lone surrogate | 0: a symbol | 0: {} | 0: an object without a prototype | 0: [] | 0: [1] | 0: [null] | 0: an array with a hole | 0: iterators that are none | 0: a function | 0: a promise | 0: a date | 0: a map | 0: bytes | 0: a URL",
      "LIBRARY kvObjects": "",
      "LIBRARY openLevelKv": "1: undefined | 1.commitRecordsMin: undefined | 1.written: undefined | 1.highWater: undefined | 1.acceptLoss: undefined | 1.durability: undefined | 1.flushMs: undefined | 1.acceptLoss: true | 1: {} | 1: an object without a prototype | 1: iterators that are none",
      "LIBRARY openMemory": "0: undefined | 0.stashTtlMs: undefined | 0.compression: undefined | 0.formatChecks: undefined | 0.clock: undefined | 0.random: undefined | 0.sources: undefined | 0.quota: undefined | 0: {} | 0: an object without a prototype | 0: iterators that are none | 0.quota: a function",
      "LIBRARY openStore": "0.stashTtlMs: undefined | 0.compression: undefined | 0.formatChecks: undefined | 0.clock: undefined | 0.random: undefined | 0.sources: undefined | 0.quota: undefined | 0.afterClose: undefined | 0.quota: a function | 0.afterClose: a function",
      "LIBRARY restoreBackup": "1.files: undefined",
      "NODE backupToFile": "2: undefined | 2.files: undefined | 2.signal: undefined | 2: {} | 2: an object without a prototype | 2: iterators that are none",
      "NODE closeServer": "1: undefined | 1: 0",
      "NODE fastifyPlugin": "1.authenticate: undefined | 1.adminKeys: undefined | 1.apps: undefined | 1.baseUrl: undefined | 1.publicBaseUrl: undefined | 1.logger: undefined | 1.registry: undefined | 1.moreMetrics: undefined | 1.onFailure: undefined | 1.onWarning: undefined | 1.adminKeys: [] | 1.apps: [] | 1.moreMetrics: [] | 1.keys: an array with a hole | 1.apps: an array with a hole | 1.onFailure: a function | 1.onWarning: a function",
      "NODE hardenServer": "1: undefined | 1.connectionsMax: undefined | 1.keylessPerAddressMax: undefined | 1: {} | 1: an object without a prototype | 1: iterators that are none",
      "NODE nodeHandler": "1.authenticate: undefined | 1.adminKeys: undefined | 1.apps: undefined | 1.baseUrl: undefined | 1.publicBaseUrl: undefined | 1.logger: undefined | 1.registry: undefined | 1.moreMetrics: undefined | 1.onFailure: undefined | 1.onWarning: undefined | 1.basePath: undefined | 1.basePath: '' | 1.adminKeys: [] | 1.apps: [] | 1.moreMetrics: [] | 1.keys: an array with a hole | 1.apps: an array with a hole | 1.onFailure: a function | 1.onWarning: a function",
      "NODE nodeSources": "0: undefined | 0.allowPrivate: undefined | 0.ports: undefined | 0.connectTimeoutMs: undefined | 0.ca: undefined | 0.lookup: undefined | 0.allowPrivate: true | 0.ca: '' | 0.ca: 'x' | 0.ca: a text with a NUL | 0.ca: a lone surrogate | 0: {} | 0: an object without a prototype | 0.ports: [1] | 0.ports: an array with a hole | 0: iterators that are none | 0.lookup: a function",
      "NODE openDirectory": "0: 'x' | 0: a lone surrogate | 1: undefined | 1.compression: undefined | 1.sources: undefined | 1.acceptLoss: undefined | 1.durability: undefined | 1.flushMs: undefined | 1.acceptLoss: true | 1: {} | 1.sources: {} | 1: an object without a prototype | 1.sources: an object without a prototype | 1: iterators that are none | 1.sources: iterators that are none",
      "NODE restoreDirectory": "2: undefined | 2.filesFrom: undefined | 2.signal: undefined | 2.filesFrom: 'x' | 2.filesFrom: a lone surrogate | 2: {} | 2: an object without a prototype | 2: iterators that are none",
      "NODE startServer": "1.authenticate: undefined | 1.adminKeys: undefined | 1.apps: undefined | 1.baseUrl: undefined | 1.publicBaseUrl: undefined | 1.logger: undefined | 1.registry: undefined | 1.moreMetrics: undefined | 1.onFailure: undefined | 1.onWarning: undefined | 1.basePath: undefined | 1.host: undefined | 1.port: undefined | 1.connections: undefined | 1.port: 0 | 1.basePath: '' | 1.connections: {} | 1.connections: an object without a prototype | 1.adminKeys: [] | 1.apps: [] | 1.moreMetrics: [] | 1.keys: an array with a hole | 1.apps: an array with a hole | 1.connections: iterators that are none | 1.onFailure: a function | 1.onWarning: a function",
      "PUBLIC_FILES open": "0: '' | 0: 'x' | 0: a text with a NUL | 0: a lone surrogate",
      "PUBLIC_FILES receive": "",
      "STASH put": "0: 0 | 0: 'x' | 1: []",
      "STORE backup": "0: undefined | 0.files: undefined | 0.signal: undefined | 0: {} | 0: an object without a prototype | 0: iterators that are none",
      "STORE team": "0: 'x' | 0: a text with a NUL",
      "STORE teams": "",
      "STORE verify": "0: undefined | 0.full: undefined | 0.signal: undefined | 0.onFinding: undefined | 0.onProgress: undefined | 0.full: true | 0: {} | 0: an object without a prototype | 0: iterators that are none | 0.onFinding: a function | 0.onProgress: a function",
      "TABLE addRows": "0: [] | 1: undefined | 1.onSchemaError: undefined | 1.idempotencyKey: undefined | 1.receipt: undefined | 1.receipt: true | 1: {} | 1: an object without a prototype | 1: iterators that are none",
      "TABLE alter": "0.schema: undefined | 0.ifMatch: undefined | 0.name: 'x' | 0.name: a text with a NUL",
      "TABLE at": "",
      "TABLE change": "",
      "TABLE changes": "",
      "TABLE count": "0: undefined | 0.a: null | 0.a: 0 | 0.a: -1 | 0.a: 0.5 | 0.a: 1n | 0: {} | 0.a: {} | 0.$not: {} | 0: an object without a prototype | 0.a: an object without a prototype | 0.$not: an object without a prototype | 0.$and: [] | 0.$or: [] | 0: iterators that are none | 0.a: iterators that are none | 0.$not: iterators that are none | 1: undefined | 1.signal: undefined | 1: {} | 1: an object without a prototype | 1: iterators that are none",
      "TABLE delete": "0: undefined | 0.ifMatch: undefined | 0.ifMatch: 1n | 0: {} | 0: an object without a prototype | 0: iterators that are none",
      "TABLE deleteRow": "0: '' | 0: 'x' | 0: a text with a NUL | 0: a lone surrogate | 1: undefined | 1.author: undefined | 1.note: undefined | 1.author: 'x' | 1.note: 'x' | 1.author: a text with a NUL | 1.note: a text with a NUL | 1: {} | 1: an object without a prototype | 1: iterators that are none",
      "TABLE deleteRows": "0: [] | 1: undefined | 1.signal: undefined | 1.idempotencyKey: undefined | 1.requestDigest: undefined | 1.author: undefined | 1.note: undefined | 1.author: 'x' | 1.note: 'x' | 1.author: a text with a NUL | 1.note: a text with a NUL | 1: {} | 1: an object without a prototype | 1: iterators that are none",
      "TABLE find": "0.a: null | 0.a: 0 | 0.a: -1 | 0.a: 0.5 | 0.a: 1n | 0: {} | 0.a: {} | 0.$not: {} | 0: an object without a prototype | 0.a: an object without a prototype | 0.$not: an object without a prototype | 0.$and: [] | 0.$or: [] | 0: iterators that are none | 0.a: iterators that are none | 0.$not: iterators that are none | 1: undefined | 1.columns: undefined | 1.from: undefined | 1.orderBy: undefined | 1.limit: undefined | 1.numbers: undefined | 1.signal: undefined | 1.from: 0 | 1: {} | 1: an object without a prototype | 1.columns: [] | 1: iterators that are none",
      "TABLE findBytes": "0.limit: undefined | 0.continuation: undefined | 0.where: undefined | 0.columns: undefined | 0.from: undefined | 0.orderBy: undefined | 0.total: undefined | 0.reserve: undefined | 0.total: true | 0.from: 0 | 0: {} | 0.where: {} | 0: an object without a prototype | 0.where: an object without a prototype | 0.columns: [] | 0: iterators that are none | 0.where: iterators that are none | 0.reserve: a function",
      "TABLE get": "0: '' | 0: 'x' | 0: a text with a NUL | 0: a lone surrogate | 1: undefined | 1.numbers: undefined | 1: {} | 1: an object without a prototype | 1: iterators that are none",
      "TABLE getJson": "0: '' | 0: 'x' | 0: a text with a NUL | 0: a lone surrogate",
      "TABLE getJsonByKey": "",
      "TABLE getMany": "0: [] | 1: undefined | 1.numbers: undefined | 1: {} | 1: an object without a prototype | 1: iterators that are none",
      "TABLE groups": "0.by: undefined | 0.sum: undefined | 0.least: undefined | 0.greatest: undefined | 0.where: undefined | 0.search: undefined | 0.limit: undefined | 0.signal: undefined | 0.numbers: undefined | 0.search: '' | 0.search: 'x' | 0.search: a text with a NUL | 0.search: a lone surrogate | 0: {} | 0.where: {} | 0: an object without a prototype | 0.where: an object without a prototype | 0.by: [] | 0.sum: [] | 0.least: [] | 0.greatest: [] | 0: iterators that are none | 0.where: iterators that are none",
      "TABLE groupsJson": "0.by: undefined | 0.sum: undefined | 0.least: undefined | 0.greatest: undefined | 0.where: undefined | 0.search: undefined | 0.limit: undefined | 0.signal: undefined | 0.search: '' | 0.search: 'x' | 0.search: a text with a NUL | 0.search: a lone surrogate | 0: {} | 0.where: {} | 0: an object without a prototype | 0.where: an object without a prototype | 0.by: [] | 0.sum: [] | 0.least: [] | 0.greatest: [] | 0: iterators that are none | 0.where: iterators that are none",
      "TABLE log": "0: undefined | 0: {} | 0: an object without a prototype | 0: iterators that are none",
      "TABLE merge": "0.missing: undefined | 0.unnamed: undefined | 0.ifMatch: undefined | 0.onSchemaError: undefined | 0.idempotencyKey: undefined | 0.receipt: undefined | 0.dryRun: undefined | 0.signal: undefined | 0.receipt: true | 0.dryRun: true | 0.rows: []",
      "TABLE openExport": "0.where: undefined | 0.search: undefined | 0.columns: undefined | 0.orderBy: undefined | 0.limit: undefined | 0.signal: undefined | 0.at: undefined | 0.search: '' | 0.search: 'x' | 0.search: a text with a NUL | 0.search: a lone surrogate | 0.where: {} | 0.where: an object without a prototype | 0.columns: [] | 0.where: iterators that are none",
      "TABLE openPage": "0: undefined | 0.limit: undefined | 0.continuation: undefined | 0.reserve: undefined | 0: {} | 0: an object without a prototype | 0: iterators that are none | 0.reserve: a function",
      "TABLE overwrite": "0.schema: undefined | 0.ifMatch: undefined | 0.onSchemaError: undefined | 0.receipt: undefined | 0.author: undefined | 0.note: undefined | 0.receipt: true | 0.author: 'x' | 0.note: 'x' | 0.author: a text with a NUL | 0.note: a text with a NUL | 0.rows: []",
      "TABLE page": "0: undefined | 0.limit: undefined | 0.continuation: undefined | 0.numbers: undefined | 0.total: true | 0.from: 0 | 0: {} | 0.where: {} | 0: an object without a prototype | 0.where: an object without a prototype | 0.columns: [] | 0: iterators that are none | 0.where: iterators that are none",
      "TABLE pageBytes": "0: undefined | 0.limit: undefined | 0.continuation: undefined | 0.memory: undefined | 0: {} | 0: an object without a prototype | 0: iterators that are none | 0.memory: bytes",
      "TABLE pageVersion": "0: undefined | 0.limit: undefined | 0.continuation: undefined | 0.where: undefined | 0.columns: undefined | 0.from: undefined | 0.orderBy: undefined | 0.total: undefined | 0.total: true | 0.from: 0 | 0: {} | 0.where: {} | 0: an object without a prototype | 0.where: an object without a prototype | 0.columns: [] | 0: iterators that are none | 0.where: iterators that are none",
      "TABLE preflight": "0.schema: undefined | 0.ifMatch: undefined | 0.onSchemaError: undefined | 0.receipt: undefined | 0.receipt: true | 0.ifMatch: 1n | 0.rows: []",
      "TABLE preflight of a conversion": "0.ifMatch: undefined | 0.signal: undefined | 0.ifMatch: 1n",
      "TABLE receipt": "",
      "TABLE rename": "0: 'x' | 0: a text with a NUL | 1: undefined | 1.ifMatch: undefined | 1: {} | 1: an object without a prototype | 1: iterators that are none",
      "TABLE scan": "0: undefined | 0.numbers: undefined | 0.where: undefined | 0.columns: undefined | 0.from: undefined | 0.orderBy: undefined | 0.limit: undefined | 0.signal: undefined | 0.from: 0 | 0: {} | 0.where: {} | 0: an object without a prototype | 0.where: an object without a prototype | 0.columns: [] | 0: iterators that are none | 0.where: iterators that are none",
      "TABLE toCSV": "0: undefined | 0.where: undefined | 0.columns: undefined | 0.orderBy: undefined | 0.limit: undefined | 0.signal: undefined | 0: {} | 0.where: {} | 0: an object without a prototype | 0.where: an object without a prototype | 0.columns: [] | 0: iterators that are none | 0.where: iterators that are none",
      "TABLE toNDJSON": "0: undefined | 0.where: undefined | 0.columns: undefined | 0.orderBy: undefined | 0.limit: undefined | 0.signal: undefined | 0: {} | 0.where: {} | 0: an object without a prototype | 0.where: an object without a prototype | 0.columns: [] | 0: iterators that are none | 0.where: iterators that are none",
      "TABLE updateRow": "1: {} | 1: an object without a prototype | 1: iterators that are none | 2: undefined | 2.ifMatch: undefined | 2.onSchemaError: undefined | 2: {} | 2: an object without a prototype | 2: iterators that are none",
      "TABLE updateRowJson": "2: undefined | 2.ifMatch: undefined | 2.onSchemaError: undefined | 2: {} | 2: an object without a prototype | 2: iterators that are none",
      "TABLE updateRows": "0: []",
      "TABLE watch": "",
      "TABLE watchLog": "0: undefined | 0.since: undefined | 0.signal: undefined | 0.since: 0 | 0: {} | 0: an object without a prototype | 0: iterators that are none",
      "TEAM createTable": "0.schema: undefined | 0.onSchemaError: undefined | 0.idempotencyKey: undefined | 0.receipt: undefined | 0.receipt: true | 0.name: 'x' | 0.idempotencyKey: 'x' | 0.name: a text with a NUL | 0.rows: []",
      "TEAM ensureTable": "",
      "TEAM importTable": "0.name: undefined | 0.format: undefined | 0.onSchemaError: undefined | 0.name: 'x' | 0.name: a text with a NUL",
      "TEAM job": "",
      "TEAM preflight": "0.schema: undefined | 0.onSchemaError: undefined | 0.idempotencyKey: undefined | 0.receipt: undefined | 0.receipt: true | 0.name: 'x' | 0.idempotencyKey: 'x' | 0.name: a text with a NUL | 0.rows: []",
      "TEAM startJob": "0.create: undefined | 0.overwrite: undefined | 0.note: undefined | 0.note: '' | 0.note: 'x' | 0.note: a text with a NUL",
      "TEAM stash": "0: 'x'",
      "TEAM table": "",
      "TEAM tableByName": "0: '' | 0: 'x' | 0: a text with a NUL | 0: a lone surrogate",
      "TEAM tablesByName": "0: '' | 0: 'x' | 0: a text with a NUL | 0: a lone surrogate",
      "TEAM transaction": "0: a function",
    }
  `)
})

/** Methods that take no arguments. */
const WITHOUT_ARGUMENTS =
  'activity chunks close delete deleteAll info jobs loadParquet memory schema stashes status maintain tableNames tables version'.split(
    ' ',
  )

test('every public function is among those that were called', () => {
  const functionsOf = (holder: object): string[] => {
    const names = Object.getOwnPropertyNames(holder)
    return names.filter((name) => typeof (holder as Record<string, unknown>)[name] === 'function')
  }
  const methodsOf = (given: object): string[] => functionsOf(Object.getPrototypeOf(given) as object)
  const functions: Readonly<Record<keyof typeof GROUPS, readonly string[]>> = {
    LIBRARY: functionsOf(core),
    NODE: functionsOf(node),
    STORE: methodsOf(store),
    PUBLIC_FILES: methodsOf(store.files),
    TEAM: methodsOf(team),
    JOB: methodsOf(team.job(jobId)),
    STASH: methodsOf(team.stash('stash')),
    TABLE: methodsOf(table),
    FILES: methodsOf(team.files),
    FILE: functionsOf(file),
  }
  // An error, an object store and a publisher of events, whose arguments come from the store.
  const others = [
    'constructor',
    'StoreError',
    'memoryObjects',
    'publishEvent',
    'belongsTo',
    'isWhole',
    'stagedNow',
    ...WITHOUT_ARGUMENTS,
  ]
  const missing = Object.entries(GROUPS).flatMap(([group, calls]) =>
    functions[group as keyof typeof GROUPS]
      .filter((name) => !Object.hasOwn(calls, name) && !others.includes(name))
      .map((name) => `${group} ${name}`),
  )

  expect(missing).toEqual([])
})

test('a contract answers what is no request', async () => {
  const contract = core.createContract(store, { keys: KEYS })
  for (const [, make] of WRONG) {
    const { status, body } = await contract.handle(make() as ContractRequest)

    expect([status, body]).toEqual([400, expect.stringContaining('handle takes { method, path')])
  }
})

test('the message says what is wrong, and what to do', async () => {
  const notAwaited = node.openDirectory(newPath())
  const said = async (use: () => unknown): Promise<string> => {
    try {
      await use()
    } catch (failure) {
      return core.isStoreError(failure) ? `${failure.code}: ${failure.message}` : String(failure)
    }
    return 'nothing'
  }
  const loose = node as unknown as Record<string, (...given: unknown[]) => unknown>

  expect([
    await said(() => loose['openDirectory']?.()),
    await said(() => loose['openDirectory']?.('')),
    await said(() => loose['openDirectory']?.('file:///data')),
    await said(() => loose['nodeHandler']?.(store)),
    await said(() => loose['nodeHandler']?.(notAwaited, { keys: KEYS })),
    await said(() => loose['nodeHandler']?.(store, { keys: {} })),
    await said(() => loose['hardenServer']?.()),
    await said(() => team.stash('s').put(0.5, [])),
    await said(() => table.addRows([Promise.resolve({ a: 1 })])),
    await said(() => table.get(undefined as unknown as string)),
  ]).toMatchInlineSnapshot(`
    [
      "REQUEST_VALIDATION_ERROR: The directory must be given as a path or a file: URL, not undefined",
      "REQUEST_VALIDATION_ERROR: The directory must be given as a path, not as an empty text",
      "REQUEST_VALIDATION_ERROR: The directory must be given as a path, or as a URL object: new URL('file:///data')",
      "OPTION_NOT_ALLOWED: Option "keys" or "authenticate" or "storedKeys" must be given",
      "REQUEST_VALIDATION_ERROR: The contract needs a store, such as openDirectory resolves to, not a Promise; an await is missing",
      "OPTION_NOT_ALLOWED: Option "keys" must be a list of { key, teamId }, not an object",
      "REQUEST_VALIDATION_ERROR: hardenServer takes a server of node:http, not undefined",
      "REQUEST_VALIDATION_ERROR: Serial must be a string, or a whole number from 0 to 2^53 - 1, not 0.5",
      "REQUEST_VALIDATION_ERROR: Invalid row in row 0 (counted from 0): must be an object of cells by column ID, not a Promise; an await is missing",
      "REQUEST_VALIDATION_ERROR: A row ID must be a string, not undefined",
    ]
  `)
  await (await notAwaited).close()
})

test('of a column that the table lacks, the message ends with the one that was meant', async () => {
  await using memory = await core.openMemory()
  const own = memory.team('columns')
  const schema = { columns: [{ id: 'customer', type: 'string' as const }] }
  const made = await own.createTable({ name: 'x', schema, rows: [{ customer: 'a' }] })
  const orders = own.table(made.tableId)
  const rowId = made.rowIds.get(0)
  const stash = own.stash('columns')
  await stash.put('7', [{ customer: 'b' }, { custmer: 'c' }])
  const refused = async (message: string, run: () => Promise<unknown>) => {
    await expect(run()).rejects.toMatchObject({ code: 'COLUMN_ID_NOT_FOUND', message })
  }
  const meant = '; did you mean "customer"? It has "customer"'

  const phrase = "Unknown column ID 'custmer'"
  await refused(`${phrase}${meant}`, () => orders.updateRow(rowId, { custmer: 'b' }))
  await refused(`${phrase} in row 1 (counted from 0)${meant}`, () => {
    return orders.addRows([{ customer: 'b' }, { custmer: 'c' }])
  })
  await refused(`${phrase} in row 0 (counted from 0), line 2${meant}`, () => {
    return orders.addRows({ csv: 'custmer\nb\n' })
  })
  await refused(`${phrase} in row 1 (counted from 0) of chunk '7'${meant}`, () => {
    return orders.addRows(stash)
  })
  await refused(`Unknown column ID 'total'; it has "customer"`, () =>
    orders.updateRow(rowId, { total: 1 }),
  )
})

test('an option that is refused leaves no directory behind', async () => {
  const refused: Record<string, unknown>[] = [
    { pageRowsMax: 0 },
    { chacheBytesMax: 1 },
    { durability: 'never' },
    { flushMs: 1 },
    { onEvent: 1 },
    { sources: 1 },
    { recompression: 'lzma' },
  ]
  for (const options of refused) {
    const path = newPath()
    await expect(node.openDirectory(path, options)).rejects.toMatchObject({
      code: 'OPTION_NOT_ALLOWED',
    })
    expect(existsSync(path), JSON.stringify(options)).toBe(false)
  }
})

test('a directory is named by a file URL too', async () => {
  const path = newPath()
  const opened = await node.openDirectory(pathToFileURL(path))
  await opened.team('team').createTable({ name: 'x', rows: [] })
  await node.backupToFile(opened, pathToFileURL(`${path}.backup`))
  await opened.close()
  const backup = createReadStream(`${path}.backup`)
  await node.restoreDirectory(pathToFileURL(`${path} restored`), backup)
  const restored = await node.openDirectory(`${path} restored`)

  expect(await restored.team('team').tables()).toHaveLength(1)
  await restored.close()
})

test('a backup that cannot be read fails the restore, and ends no process', async () => {
  const path = newPath()
  const unread = createReadStream(join(folder, 'no-such-backup'))

  await expect(node.restoreDirectory(path, unread)).rejects.toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
    message: expect.stringContaining('no-such-backup'),
  })
})

test('numbers are serials: they stand for their digits', async () => {
  const stash = team.stash('numbers')
  await stash.put(10, [{ n: 10 }])
  await stash.put(9, [{ n: 9 }])
  await stash.put('10', [{ n: 11 }])
  await stash.put(-0, [{ n: 0 }])
  await stash.put(2 ** 53 - 1, [{ n: 12 }])
  const made = team.table((await team.createTable({ name: 'n', rows: stash })).tableId)

  expect((await made.page()).rows.map(({ n }) => n)).toEqual([0, 9, 11, 12])
  for (const serial of [-1, 0.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY]) {
    await expect(stash.put(serial, [])).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
  }
})

interface Order {
  readonly id: number
  paid?: boolean
}

class Item {
  readonly #secret = 1
  readonly name = 'a'

  sum(): number {
    return this.#secret
  }
}

test('rows may be objects of interfaces and classes', async () => {
  const orders: readonly Order[] = [{ id: 1 }, { id: 2, paid: true }]
  const some = async function* (): AsyncGenerator<Order> {
    yield* orders
  }
  const made = await team.createTable({ name: 'x', rows: orders, onSchemaError: 'updateSchema' })
  const rows = team.table(made.tableId)
  await rows.addRows(some())
  await rows.addRows(new Set(orders))
  await rows.addRows([new Item()], { onSchemaError: 'updateSchema' })
  const change: Order = { id: 3 }
  await rows.updateRow(made.rowIds.get(0), change)
  await team.stash('orders').put(0, orders)

  const { rows: read } = await rows.page()
  expect(read.map(({ $rowID, ...row }) => row)).toEqual([
    { id: 3 },
    ...orders.slice(1),
    ...orders,
    ...orders,
    { name: 'a' },
  ])
})

test('rows that are no objects do not compile', async () => {
  const refused = { code: 'REQUEST_VALIDATION_ERROR' }
  // @ts-expect-error
  await expect(table.addRows([[1]])).rejects.toMatchObject(refused)
  // @ts-expect-error
  await expect(table.addRows([1])).rejects.toMatchObject(refused)
  // @ts-expect-error
  await expect(table.addRows('a,b')).rejects.toMatchObject(refused)
  // @ts-expect-error
  await expect(table.addRows([new Map([['a', 1]])])).rejects.toMatchObject(refused)
  // @ts-expect-error
  await expect(table.updateRow(rowId, [1])).rejects.toMatchObject(refused)
})
