// A part of `npm run check:package`: what the package contains, how large it is, and that a program runs after an
// install with scripts blocked. It needs what `npm run build` has built.
//
//     node test/package/check-package.mjs              before a change is taken
//     node test/package/check-package.mjs --publish    before a publication: no placeholder is left, and a torture is on record
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { isSameCode, readRecord, wrongRecord } from '../rungs/ladder/record.mjs'
import {
  BUNDLE_MAX,
  PACKED_MAX,
  UNPACKED_MAX,
  wrongFiles,
  wrongLinks,
  wrongManifest,
  wrongOwner,
  wrongPictures,
} from './pack-rules.mjs'

const ROOT = join(import.meta.dirname, '../..')
const run = promisify(execFile)

/** A user's first program. It runs as a module and by require. */
const PROGRAM = `
async function main({ openDirectory }, { createClient }, place) {
  const store = await openDirectory(place)
  const { tableId } = await store.team('t').createTable({ name: 'T', rows: { csv: 'a,b\\n1,34.50\\n' } })
  const { rows } = await store.team('t').table(tableId).page({ limit: 10 })
  await store.close()
  console.log(rows.length, rows[0].b, typeof createClient)
}
`
const PROGRAMS = {
  'module.mjs': `import * as node from 'rowstash/node'
    import * as client from 'rowstash/client'
    ${PROGRAM} await main(node, client, 'data-module')`,
  'required.cjs': `${PROGRAM} main(require('rowstash/node'), require('rowstash/client'), 'data-required')`,
}

/** Creates the tarball. @returns its path and content */
async function pack(folder) {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: ROOT,
  })
  const [packed] = JSON.parse(stdout)
  return { ...packed, path: join(folder, packed.filename) }
}

async function checkContents({ files, size, unpackedSize }) {
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const documents = files.map(({ path }) => path).filter((path) => path.endsWith('.md'))
  const shown = await Promise.all(
    documents.map(async (path) => {
      const text = await readFile(join(ROOT, path), 'utf8')
      return [...wrongPictures(path, text, files), ...wrongLinks(path, text, files)]
    }),
  )
  const isPublication = process.argv.includes('--publish')
  const wrong = [
    ...wrongFiles(files),
    ...wrongManifest(manifest, files),
    ...shown.flat(),
    ...wrongOwner(manifest, { isPublication }),
    ...(isPublication
      ? wrongRecord(await readRecord(), { now: Date.now(), isSame: isSameCode })
      : []),
  ]
  assert.deepEqual(wrong, [])
  assert(size <= PACKED_MAX, `the package has ${size} bytes; ${PACKED_MAX} are the most`)
  assert(
    unpackedSize <= UNPACKED_MAX,
    `it installs ${unpackedSize} bytes; ${UNPACKED_MAX} are the most`,
  )
  console.log(
    `package: ${files.length} files, ${size} bytes packed, ${unpackedSize} bytes installed`,
  )
}

/** Installs the tarball in a new folder, as for a user whose npm runs no scripts. */
async function install(folder, tarball) {
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel', 'error']
  await run('npm', ['install', '--ignore-scripts', ...quiet, tarball], { cwd: folder })
}

async function checkPrograms(folder) {
  for (const [name, text] of Object.entries(PROGRAMS)) {
    await writeFile(join(folder, name), text)
    const { stdout } = await run(process.execPath, [name], { cwd: folder })
    assert.equal(stdout, '1 34.5 function\n', name)
  }
  const command = join(folder, 'node_modules/.bin/rowstash')
  const { stdout } = await run(command, ['tables', '--directory', 'data-module', '--team', 't'], {
    cwd: folder,
  })
  assert.match(stdout, /^\S+\t1\t\d+\t\S+\tT\n$/)
  console.log('installed with scripts blocked: a module, a program with require, the command')
}

/**
 * Checks each entry's values against its declarations, which might declare a value as a type alone, or a type as a
 * value.
 */
async function checkDeclarations(folder) {
  const { exports } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const entries = Object.keys(exports).filter((path) => !path.endsWith('.json'))
  const names = entries.map((path) => JSON.stringify(join('rowstash', path)))
  const list = `const entries = await Promise.all([${names}].map((name) => import(name)))
    console.log(JSON.stringify(entries.map((entry) => Object.keys(entry))))`
  // It runs here because some entries need packages that an install leaves to its owner.
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', list], { cwd: ROOT })
  const values = JSON.parse(stdout)
  const program = values.map((of, entry) => {
    const told = `Record<keyof typeof entry_${entry}, true>`
    const list = of.map((value) => `${value}: true`)
    return `import * as entry_${entry} from ${names[entry]}
      export const values_${entry}: ${told} = { ${list.join()} }\n`
  })
  await compile(folder, program.join(''), ['--skipLibCheck'])
  // `rowstash/ports` has only types.
  assert(values.every((of, entry) => of.length > 0 || entries[entry] === './ports'))
  console.log(`compiled: a list of the ${values.flat().length} values of ${entries.length} entries`)
}

/** A program that generates rows: the types are fast-check's, and none is `any`. */
const GENERATING = `import fc from 'fast-check'
import { anySchema, anyRowOf, anyValueOfKind } from 'rowstash/testing'
const tables = anySchema(fc).chain((schema) => fc.tuple(fc.constant(schema), anyRowOf(fc, schema)))
fc.assert(fc.property(tables, ([{ columns }, row]) => columns.every(({ id }) => typeof id === 'string') && row !== null))
const [value] = fc.sample(anyValueOfKind(fc, 'number'), 1)
// @ts-expect-error A value of a kind is unknown.
value.length
// @ts-expect-error A schema has no rows.
fc.sample(anySchema(fc), 1)[0]?.rows
// @ts-expect-error It takes fast-check.
anySchema({})
`

/**
 * Compiles programs that import rowstash/testing, and checks the declarations of its imports, once without fast-check
 * installed and once with it.
 */
async function checkTesting(folder) {
  const without = `import { createTestServer, kvSuite } from 'rowstash/testing'
    const { url } = await createTestServer()
    console.log(url.length, kvSuite)\n`
  await assert.rejects(readFile(join(folder, 'node_modules/fast-check/package.json')))
  await compile(folder, without, ['--skipLibCheck', 'false'])
  await compile(folder, LIBRARY, ['--declaration'])
  await symlink(join(ROOT, 'node_modules/fast-check'), join(folder, 'node_modules/fast-check'))
  await compile(folder, GENERATING, ['--skipLibCheck', 'false'])
  console.log(
    'compiled with all declarations: a library; rowstash/testing without fast-check, and with it',
  )
}

/** The program of a library's author: its declarations name the types of what it exports. */
const LIBRARY = `import { createContract, defineSchema, memoryObjects, openLevelKv, type Store, type Table, type Team } from 'rowstash'
declare const store: Store, team: Team, table: Table
const Order = defineSchema({ columns: { total: 'number', tags: ['string'] } })
const orders = team.table('a', Order)
export const ofStore = [store.activity(), store.backup(), store.files, store.keys, store.limits, store.memory(), store.verify()] as const
export const ofTeam = [team.files.list(), team.files.uploads(), team.jobs(), team.job('a').status(), team.tableNames(), team.stash('a').chunks()] as const
export const ofTable = [table.at(1), table.changes({ since: 1 }), table.merge({ rows: [], key: [] }), table.openPage(), table.receipt(1), table.toCSV()] as const
export const typed = [Order, orders.changes({ since: 1 }), orders.find({ total: { gt: 1 } }), orders.get('a'), orders.page()] as const
export const transacted = team.transaction(async (transaction) => transaction.table('a', Order).page())
export const ports = [createContract(store, {}), memoryObjects(), openLevelKv] as const
export const options: Parameters<Table['count']>[1] = {}
`

/** Compiles a program in a folder. A failure's message contains the output of the compiler. */
async function compile(folder, program, more) {
  await writeFile(join(folder, 'program.mts'), program)
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const settings = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext']
  const types = ['--typeRoots', join(ROOT, 'node_modules/@types'), '--types', 'node']
  const args = [compiler, ...settings, ...types, ...more, 'program.mts']
  await run(process.execPath, args, { cwd: folder }).catch(({ stdout }) => assert.fail(stdout))
}

/** Bundles an entry of the installed package for a browser: the part loaded first, and the parts loaded on demand. */
async function checkBundle(folder, entry, { first, later }) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export * from '${entry}'`, resolveDir: folder },
    ...{ bundle: true, minify: true, write: false, splitting: true, metafile: true },
    ...{
      format: 'esm',
      platform: 'browser',
      logLevel: 'error',
      outdir: 'out',
      absWorkingDir: folder,
    },
  })
  const sizes = new Map(
    outputFiles.map(({ path, contents }) => [
      relative(folder, path),
      gzipSync(contents, { level: 9 }).length,
    ]),
  )
  const begun = Object.keys(metafile.outputs).filter(
    (name) => metafile.outputs[name].entryPoint === '<stdin>',
  )
  const reached = new Set(begun)
  for (const name of reached) {
    for (const { path, kind } of metafile.outputs[name].imports) {
      if (kind === 'import-statement') reached.add(path)
    }
  }
  const sum = (names) => names.reduce((bytes, name) => bytes + (sizes.get(name) ?? 0), 0)
  const bytes = sum([...reached])
  const others = sum([...sizes.keys()].filter((name) => !reached.has(name)))
  console.log(
    `${entry} in a page: ${bytes} bytes with gzip, and ${others} that only some programs load`,
  )
  assert(bytes <= first, `${entry} has ${bytes} bytes in a page; ${first} are the most`)
  assert(others <= later, `${entry} loads ${others} bytes later; ${later} are the most`)
}

const folder = await mkdtemp(join(tmpdir(), 'rowstash-package-'))
try {
  const packed = await pack(folder)
  await checkContents(packed)
  const installed = join(folder, 'app')
  await install(installed, packed.path)
  await checkPrograms(installed)
  await checkDeclarations(installed)
  await checkTesting(installed)
  for (const [entry, most] of Object.entries(BUNDLE_MAX)) await checkBundle(installed, entry, most)
} finally {
  await rm(folder, { recursive: true, force: true })
}
