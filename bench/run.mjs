// npm run bench -- import|read|write|rewrite|busy|files [options]. See README.md.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { finalizeRule, measureFinalize, printFinalize } from './finalize.mjs'
import { importRules, measureImport, printImport } from './import.mjs'
import { printRules, writeResults } from './report.mjs'

const USAGE = `Usage: npm run bench -- import [--part finalize|http] [--rows N] [--row-bytes N] [--seed N] [--directory DIR]
       npm run bench -- read [--row-bytes N] [--seed N] [--directory DIR]
       npm run bench -- write [--operations N] [--seed N] [--directory DIR]
       npm run bench -- files [--bytes N] [--directory DIR]
       npm run bench -- rewrite|busy [--rows N] [--seed N] [--directory DIR]

  --part PART      only one of the two parts
  --rows N         rows of the import over HTTP (default: 8000000), or of the stash (default: 1000000)
  --operations N   single adds, and as many updates (default: 100000)
  --bytes N        of the file (default: 2000000000)
  --row-bytes N    about how long a row is (default: the workload of README.md, 417)
  --seed N         another seed gives other rows (default: 1)
  --directory DIR  where temporary stores are made and removed (default: the system's)`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: 'string' },
    rows: { type: 'string' },
    operations: { type: 'string', default: '100000' },
    bytes: { type: 'string', default: '2000000000' },
    'row-bytes': { type: 'string' },
    seed: { type: 'string', default: '1' },
    directory: { type: 'string', default: tmpdir() },
    help: { type: 'boolean' },
  },
})
const settings = {
  rows: Number(values.rows ?? (positionals[0] === 'import' ? 8_000_000 : 1_000_000)),
  operations: Number(values.operations),
  bytes: Number(values.bytes),
  seed: Number(values.seed),
  rowBytes: values['row-bytes'] === undefined ? undefined : Number(values['row-bytes']),
}

/** Runs a measurement on a directory of its own, which is removed however it ends. */
async function inTemporary(measure) {
  const parent = await mkdtemp(join(values.directory, 'rowstash-bench-'))
  try {
    return await measure(join(parent, 'store'), settings)
  } finally {
    await rm(parent, { recursive: true, force: true })
  }
}

async function runImport() {
  const results = { settings, rules: [] }
  if (values.part !== 'http') {
    results.finalize = await inTemporary(measureFinalize)
    printFinalize(results.finalize)
    results.rules.push(finalizeRule(results.finalize))
  }
  if (values.part !== 'finalize') {
    results.http = await inTemporary(measureImport)
    printImport(results.http)
    results.rules.push(...importRules(results.http))
  }
  printRules(results.rules)
  writeResults('import', results)
}

async function runRead() {
  const { measureRead, printRead } = await import('./read.mjs')
  const read = await inTemporary(measureRead)
  printRead(read)
  writeResults('read', { settings, read })
}

async function runWrite() {
  const { measureSmallWrites, printSmallWrites, smallWritesRules } = await import(
    './small-writes.mjs'
  )
  const write = await inTemporary(measureSmallWrites)
  printSmallWrites(write)
  const rules = smallWritesRules(write)
  printRules(rules)
  writeResults('write', { settings, write, rules })
}

async function runRewrite() {
  const { measureRewrite, printRewrite } = await import('./rewrite.mjs')
  const rewrite = await inTemporary(measureRewrite)
  printRewrite(rewrite)
  writeResults('rewrite', { settings, rewrite })
}

async function runBusy() {
  const { busyRules, measureBusy, printBusy } = await import('./busy.mjs')
  const busy = await inTemporary(measureBusy)
  printBusy(busy)
  const rules = busyRules(busy)
  printRules(rules)
  writeResults('busy', { settings, busy, rules })
}

async function runFiles() {
  const { filesRules, measureFiles, printFiles } = await import('./files.mjs')
  const files = await inTemporary(measureFiles)
  printFiles(files)
  const rules = filesRules(files)
  printRules(rules)
  writeResults('files', { settings, files, rules })
}

const RUNS = {
  import: runImport,
  read: runRead,
  write: runWrite,
  rewrite: runRewrite,
  busy: runBusy,
  files: runFiles,
}
const isPart = values.part === undefined || ['finalize', 'http'].includes(values.part)
const isWell = isPart && !Object.values(settings).some(Number.isNaN)
const run = Object.hasOwn(RUNS, positionals[0] ?? '') ? RUNS[positionals[0]] : undefined

if (values.help || run === undefined || !isWell) {
  console.log(USAGE)
  process.exitCode = values.help ? 0 : 2
} else {
  await run()
}
