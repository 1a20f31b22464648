// npm run bench --
// import|read|find|order|groups|memory|write|rewrite|busy|files|peers|main|objects|recompression|merge|export|guard|scale|load|limits|shared
// [options]. See README.md.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { finalizeRule, measureFinalize, printFinalize } from './finalize.mjs'
import { importRules, measureImport, printImport } from './import.mjs'
import { openResults, printRules, writeResults } from './report.mjs'

const USAGE = `Usage: npm run bench                       all of them but guard, shared and recompression, one after the other
       npm run bench -- import [--part finalize|http] [--rows N] [--row-bytes N] [--seed N] [--directory DIR]
       npm run bench -- read [--row-bytes N] [--seed N] [--directory DIR]
       npm run bench -- find|order|groups [--rows N] [--seed N] [--directory DIR]
       npm run bench -- memory [--directory DIR]
       npm run bench -- write [--operations N] [--seed N] [--directory DIR]
       npm run bench -- files [--bytes N] [--directory DIR]
       npm run bench -- rewrite|busy [--rows N] [--seed N] [--directory DIR]
       npm run bench -- peers|guard [--rows N] [--rounds N] [--engines A,B] [--data NAME] [--full]
                        [--threads N] [--baseline] [--store-options JSON] [--seed N] [--directory DIR]
       npm run bench -- main [--rows N] [--rounds N] [--data standard|flights] [--store-options JSON] [--seed N]
       npm run bench -- objects [--rows N] [--directory DIR]
       npm run bench -- recompression [--rows N] [--seed N] [--directory DIR]
       npm run bench -- merge|export [--rows N] [--rounds N] [--engines A,B] [--seed N] [--directory DIR]
       npm run bench -- scale [--rows N] [--full] [--seed N] [--directory DIR]
       npm run bench -- load [--minutes N] [--seed N] [--directory DIR]
       npm run bench -- limits [--seed N] [--directory DIR]
       npm run bench -- shared [--rows N] [--rounds N] [--data standard|flights] [--store-options JSON] [--seed N]
                        [--directory DIR]

  --part PART      only one of the two parts
  --rows N         rows of the import over HTTP (default: 8000000), of the short run of guard (default:
                   100000), or of the stash or the largest table (default: 1000000)
  --rounds N       runs of every engine (default: 5)
  --engines A,B    only these of peers/engines.mjs, merge.mjs or export-engines.mjs; targets that need
                   others are not measured
  --threads N      of DuckDB, and connections of PostgreSQL by several (default: the cores of the machine)
  --data NAME      standard (default), flights: a public data set of 200,000 short rows, repeated; of peers,
                   also flightsInLargeChunks: the same in chunks of 10,000
  --store-options  options of rowstash, as JSON
  --full           a table of 8,000,000 rows too
  --baseline       store the run as what later runs of guard are compared with
  --operations N   single adds, and as many updates (default: 100000)
  --minutes N      of load (default: 5)
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
    minutes: { type: 'string', default: '5' },
    'row-bytes': { type: 'string' },
    seed: { type: 'string', default: '1' },
    rounds: { type: 'string' },
    engines: { type: 'string' },
    threads: { type: 'string' },
    data: { type: 'string', default: 'standard' },
    'store-options': { type: 'string', default: '{}' },
    full: { type: 'boolean', default: false },
    baseline: { type: 'boolean', default: false },
    directory: { type: 'string', default: tmpdir() },
    help: { type: 'boolean' },
  },
})
const ROWS = { import: 8_000_000, guard: 100_000 }

const settingsOf = (name) => ({
  rows: Number(values.rows ?? ROWS[name] ?? 1_000_000),
  operations: Number(values.operations),
  bytes: Number(values.bytes),
  minutes: Number(values.minutes),
  seed: Number(values.seed),
  rowBytes: values['row-bytes'] === undefined ? undefined : Number(values['row-bytes']),
})

const peersSettings = (name) => ({
  rows: settingsOf(name).rows,
  rounds: Number(values.rounds ?? 5),
  seed: Number(values.seed),
  data: values.data,
  engines: values.engines?.split(','),
  threads: values.threads === undefined ? undefined : Number(values.threads),
  storeOptions: JSON.parse(values['store-options']),
  full: values.full,
})

/** Runs a measurement on a new directory, which is removed in any case. */
async function inTemporary(measure, settings) {
  const parent = await mkdtemp(join(values.directory, 'rowstash-bench-'))
  try {
    return await measure(join(parent, 'store'), settings)
  } finally {
    await rm(parent, { recursive: true, force: true })
  }
}

async function runImport(settings) {
  const kept = openResults('import')
  const results = { settings, rules: [] }
  if (values.part !== 'http') {
    results.finalize = await inTemporary(measureFinalize, settings)
    printFinalize(results.finalize)
    results.rules.push(finalizeRule(results.finalize))
    kept.keep('finalize only', results)
  }
  if (values.part !== 'finalize') {
    results.http = await inTemporary(measureImport, settings)
    printImport(results.http)
    results.rules.push(...importRules(results.http))
  }
  printRules(results.rules)
  kept.finish(results)
}

async function runRead(settings) {
  const { measureRead, printRead } = await import('./read.mjs')
  const kept = openResults('read')
  const onSuite = (read) => kept.keep('not all suites', { settings, read })
  const read = await inTemporary(measureRead, { ...settings, onSuite })
  printRead(read)
  kept.finish({ settings, read })
}

/** Measures, prints, judges and stores. The process fails if a rule with `mustHold` does not hold. */
async function runOne(name, settings, { measure, print, judge = () => [], mustHold = false }) {
  const measured = await inTemporary(measure, settings)
  print(measured)
  const rules = judge(measured)
  if (rules.length > 0) printRules(rules)
  writeResults(name, { settings, [name]: measured, rules })
  if (mustHold && rules.some(({ holds }) => !holds)) process.exitCode = 1
}

async function runMemory() {
  const {
    measureMemory: measure,
    memoryRules: judge,
    printMemory: print,
  } = await import('./memory.mjs')
  await runOne('memory', {}, { measure, print, judge, mustHold: true })
}

async function runFind(settings) {
  const { findRules: judge, measureFind: measure, printFind: print } = await import('./find.mjs')
  await runOne('find', settings, { measure, print, judge })
}

async function runOrder(settings) {
  const {
    measureOrder: measure,
    orderRules: judge,
    printOrder: print,
  } = await import('./order.mjs')
  await runOne('order', settings, { measure, print, judge })
}

async function runGroups(settings) {
  const {
    groupsRules: judge,
    measureGroups: measure,
    printGroups: print,
  } = await import('./groups.mjs')
  await runOne('groups', settings, { measure, print, judge })
}

async function runWrite(settings) {
  const {
    measureSmallWrites: measure,
    printSmallWrites: print,
    smallWritesRules: judge,
  } = await import('./small-writes.mjs')
  await runOne('write', settings, { measure, print, judge })
}

async function runRewrite(settings) {
  const { measureRewrite: measure, printRewrite: print } = await import('./rewrite.mjs')
  await runOne('rewrite', settings, { measure, print })
}

async function runBusy(settings) {
  const { busyRules: judge, measureBusy: measure, printBusy: print } = await import('./busy.mjs')
  await runOne('busy', settings, { measure, print, judge })
}

async function runFiles(settings) {
  const {
    filesRules: judge,
    measureFiles: measure,
    printFiles: print,
  } = await import('./files.mjs')
  await runOne('files', settings, { measure, print, judge })
}

async function runPeers() {
  const settings = peersSettings('peers')
  const { measurePeers } = await import('./peers.mjs')
  const { printPeers } = await import('./peers-report.mjs')
  const kept = openResults('peers')
  const onRound = (soFar, peers) => kept.keep(soFar, { settings, peers })
  const peers = await inTemporary(measurePeers, { ...settings, onRound })
  printPeers(peers)
  const { targets, ...measured } = peers
  kept.finish({ settings, targets, peers: measured })
  const { drawPeers } = await import('./peers-charts.mjs')
  await drawPeers({ ...peers, machine: kept.machine })
}

async function runMain() {
  const { measureMain: measure, printMain: print } = await import('./main.mjs')
  await runOne('main', peersSettings('main'), { measure, print })
}

async function runObjects(settings) {
  const { measureObjects: measure, printObjects: print } = await import('./objects.mjs')
  await runOne('objects', settings, { measure, print })
}

async function runRecompression(settings) {
  const { measureRecompression: measure, printRecompression: print } = await import(
    './recompression.mjs'
  )
  await runOne('recompression', settings, { measure, print })
}

async function runMerge() {
  const {
    measureMerge: measure,
    mergeRules: judge,
    printMerge: print,
  } = await import('./merge.mjs')
  await runOne('merge', peersSettings('merge'), { measure, print, judge })
}

async function runExport() {
  const settings = peersSettings('export')
  const { exportRules, measureExport, printExport } = await import('./export.mjs')
  const kept = openResults('export')
  const onRun = (soFar, measured) => kept.keep(soFar, { settings, export: measured })
  const measured = await inTemporary(measureExport, { ...settings, onRun })
  printExport(measured)
  const rules = exportRules(measured)
  printRules(rules)
  kept.finish({ settings, export: measured, rules })
  if (rules.some(({ holds }) => !holds)) process.exitCode = 1
}

async function runGuard() {
  const settings = peersSettings('guard')
  const { compareTargets, newestBaseline, printGuard } = await import('./guard.mjs')
  const stored = values.baseline ? undefined : newestBaseline(settings)
  if (stored === undefined && !values.baseline) {
    console.log('there is no baseline of these rows: run `npm run bench -- guard --baseline` first')
    process.exitCode = 1
    return
  }
  const { measurePeers } = await import('./peers.mjs')
  const kept = openResults(values.baseline ? 'baseline' : 'guard')
  const onRound = (soFar, peers) => kept.keep(soFar, { settings, peers })
  const peers = await inTemporary(measurePeers, { ...settings, onRound })
  if (stored === undefined) return kept.finish({ settings, peers })
  const compared = compareTargets(stored, peers)
  printGuard(stored, kept.machine, compared)
  kept.finish({ settings, storedIn: stored.name, compared, peers })
}

async function runScale(settings) {
  const { drawScale, measureScale, printScale, scaleRules } = await import('./scale.mjs')
  const all = { ...settings, full: values.full }
  const kept = openResults('scale')
  const onRound = (soFar, scale) => kept.keep(soFar, { settings: all, scale })
  const scale = await inTemporary(measureScale, { ...all, onRound })
  printScale(scale)
  const rules = scaleRules(scale)
  printRules(rules)
  kept.finish({ settings: all, scale, rules })
  await drawScale(scale)
}

async function runLoad(settings) {
  const { loadRules: judge, measureLoad: measure, printLoad: print } = await import('./load.mjs')
  await runOne('load', settings, { measure, print, judge, mustHold: true })
}

async function runLimits(settings) {
  const {
    limitsRules: judge,
    measureLimits: measure,
    printLimits: print,
  } = await import('./limits.mjs')
  await runOne('limits', settings, { measure, print, judge, mustHold: true })
}

async function runShared() {
  const {
    measureShared: measure,
    printShared: print,
    sharedRules: judge,
  } = await import('./shared.mjs')
  await runOne('shared', peersSettings('shared'), { measure, print, judge })
}

const RUNS = {
  import: runImport,
  read: runRead,
  find: runFind,
  order: runOrder,
  groups: runGroups,
  memory: runMemory,
  write: runWrite,
  rewrite: runRewrite,
  busy: runBusy,
  files: runFiles,
  peers: runPeers,
  main: runMain,
  objects: runObjects,
  recompression: runRecompression,
  merge: runMerge,
  export: runExport,
  scale: runScale,
  load: runLoad,
  limits: runLimits,
  guard: runGuard,
  shared: runShared,
}
/** These need what some machines lack: a baseline, a server, a Node with zstd. */
const NOT_BY_DEFAULT = ['guard', 'shared', 'recompression']
const names =
  positionals.length > 0
    ? positionals
    : Object.keys(RUNS).filter((name) => !NOT_BY_DEFAULT.includes(name))
/** Names of `DATA_SETS`; rows in large chunks run only together with others. */
const PEERS_DATA = 'flightsInLargeChunks'
const DATA_NAMES = ['standard', 'flights', PEERS_DATA]
const isPart = values.part === undefined || ['finalize', 'http'].includes(values.part)
const isWell =
  isPart &&
  DATA_NAMES.includes(values.data) &&
  (values.data !== PEERS_DATA || names.every((name) => name === 'peers')) &&
  !Object.values({ ...settingsOf(names[0]), ...peersSettings(names[0]) }).some(Number.isNaN) &&
  names.every((name) => Object.hasOwn(RUNS, name))

if (values.help || !isWell) {
  console.log(USAGE)
  process.exitCode = values.help ? 0 : 2
} else {
  for (const name of names) await RUNS[name](settingsOf(name))
}
