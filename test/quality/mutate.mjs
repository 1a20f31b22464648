// Changes the source in one place at a time, as Stryker does, and counts how often the tests notice.
//
//     npm run test:mutate [-- keys merge … --sample 0.04 --from 0 --seed 1 --files GLOB | --at src/engine/maintenance/compact.ts:82 … | --again FILE] [--wide]
//
// The words are modules of invariants.json: all mutants of their files, which meet the tests of the modules first.
// Without a word a random part of the mutants of all modules is run, as all of them take days. `--sample`: how large a
// part, 1 is all; `--from`: where it begins, so that two parts have no mutant in common; `--files`: only of these
// files; `--at`: instead all mutants of a line, as often as it is given; `--again`: instead those that a file of
// results says were not killed, known by the text of their line; `--wide`: more tests, see mutation.config.ts. They run
// in random order: a run that is ended early (Ctrl-C) has the score of a smaller sample. What came of each is written
// to coverage/mutants.jsonl. What survived is explained in survivors.json, or shown.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { installTools } from './install-tools.mjs'

const FOLDER = import.meta.dirname
const ROOT = join(FOLDER, '../..')
const NOT_DRAWN = 'not in the sample'

const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string' },
    from: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    files: { type: 'string' },
    at: { type: 'string', multiple: true },
    again: { type: 'string' },
    wide: { type: 'boolean', default: false },
  },
})

const INVARIANTS = readJson('invariants.json')
const SURVIVORS = readJson('survivors.json')
const unknown = names.filter((name) => INVARIANTS[name] === undefined)
if (unknown.length > 0) {
  throw new Error(
    `No module is named ${unknown.join(' or ')}: ${Object.keys(INVARIANTS).join(', ')}`,
  )
}
const modules = names.map((name) => INVARIANTS[name])
const sample = Number(values.sample ?? (names.length > 0 ? 1 : 0.04))

function readJson(name) {
  return JSON.parse(readFileSync(join(FOLDER, name), 'utf8'))
}

/** A number between 0 and 1, the same for a mutant in each run. */
function placeOf({ fileName, original, mutatorName, replacementCode }) {
  const { line, column } = original.loc.start
  const parts = [values.seed, relative(ROOT, fileName), line, column, mutatorName, replacementCode]
  return createHash('sha256').update(parts.join('\n')).digest().readUInt32BE() / 2 ** 32
}

/** The mutants not killed in an earlier run. Their lines may have moved since. */
const before = values.again === undefined ? [] : readNotKilled(values.again)
const keysBefore = new Set(before.map(keyOf))

function readNotKilled(file) {
  const lines = readFileSync(file, 'utf8').split('\n')
  const results = lines.filter((line) => line !== '').map((line) => JSON.parse(line))
  return results.filter(({ status }) => status !== 'Killed')
}

function keyOf({ path, mutatorName, replacement, source }) {
  return [path, mutatorName, replacement, source].join('\n')
}

function isDrawn({ fileName, original, mutatorName, replacementCode: replacement }, place) {
  if (values.again !== undefined) {
    const path = relative(ROOT, fileName)
    const source = readFileSync(fileName, 'utf8').split('\n')[original.loc.start.line - 1].trim()
    return keysBefore.has(keyOf({ path, mutatorName, replacement, source }))
  }
  if (values.at !== undefined) {
    return values.at.includes(`${relative(ROOT, fileName)}:${original.loc.start.line}`)
  }
  const from = place - Number(values.from)
  return from >= 0 && from < sample
}

/** Places of mutants by Stryker's IDs. */
const places = new Map()

async function importInside(path) {
  return await import(pathToFileURL(join(FOLDER, 'node_modules/@stryker-mutator', path)).href)
}

/**
 * Stryker has no samples: an undrawn mutant is ignored at its creation, so that the code contains only drawn ones. This
 * changes internals of Stryker, so its version is fixed.
 */
async function drawSample() {
  const path = 'instrumenter/dist/src/transformers/mutant-collector.js'
  const { MutantCollector } = await importInside(path)
  const { collect } = MutantCollector.prototype
  MutantCollector.prototype.collect = function (...given) {
    const mutant = collect.apply(this, given)
    const place = placeOf(mutant)
    places.set(mutant.id, place)
    if (!isDrawn(mutant, place)) mutant.ignoreReason ??= NOT_DRAWN
    return mutant
  }
}

async function shufflePlan() {
  const { MutantTestPlanner } = await importInside('core/dist/src/mutants/mutant-test-planner.js')
  const { makePlan } = MutantTestPlanner.prototype
  MutantTestPlanner.prototype.makePlan = async function (...given) {
    const plans = await makePlan.apply(this, given)
    return plans.sort((left, right) => places.get(left.mutant.id) - places.get(right.mutant.id))
  }
}

async function runMutants() {
  const { Stryker } = await importInside('core/dist/src/index.js')
  const plugin = 'node_modules/@stryker-mutator/vitest-runner/dist/src/index.js'
  const ofModules = (names.length > 0 ? modules : Object.values(INVARIANTS)).map(
    ({ files }) => files,
  )
  const ofLines = values.at?.map((place) => place.replace(/:\d+$/, ''))
  const chosen = ofLines ?? (values.files === undefined ? ofModules : [values.files])
  const files = values.again === undefined ? chosen : before.map(({ path }) => path)
  const stryker = new Stryker({
    mutate: [...new Set(files)],
    testRunner: 'vitest',
    vitest: { configFile: 'test/quality/mutation.config.ts', related: false },
    coverageAnalysis: 'perTest',
    ignoreStatic: true,
    concurrency: 1,
    tempDirName: 'coverage/stryker',
    ignorePatterns: ['bench', 'dist', 'coverage', 'test/quality/node_modules', '**/*.tgz'],
    plugins: [plugin, 'mutant-results.mjs'].map((path) => pathToFileURL(join(FOLDER, path)).href),
    reporters: ['mutant-results'],
    timeoutMS: 20_000,
    timeoutFactor: 1.2,
    dryRunTimeoutMinutes: 20,
    allowConsoleColors: false,
  })
  await stryker.runMutationTest()
}

/** The 95 % Wilson interval of a share. */
function intervalOf(part, count) {
  const z = 1.96
  const share = part / count
  const middle = (share + z ** 2 / (2 * count)) / (1 + z ** 2 / count)
  const spread = (share * (1 - share)) / count + z ** 2 / (4 * count ** 2)
  const half = (z / (1 + z ** 2 / count)) * Math.sqrt(spread)
  return [middle - half, middle + half].map(percent)
}

function percent(share) {
  return `${(100 * share).toFixed(1)} %`
}

/** Whether survivors.json explains it. */
function isExplained({ path, source, replacement }) {
  const shown = inOneLine(replacement)
  return SURVIVORS.some((known) => {
    return known.file === path && known.source === source && known.replacement === shown
  })
}

function inOneLine(text) {
  return text.replaceAll(/\s+/g, ' ')
}

const ENDS = ['Killed', 'Timeout', 'Survived', 'NoCoverage']

function printScore(results, isWhole) {
  const drawn = results.filter(({ reason }) => reason !== NOT_DRAWN)
  const ran = drawn.filter(({ status }) => status !== 'NoCoverage' && status !== 'Ignored')
  // Mutants that no test covers are reported at once. Of them the same share counts as of the others.
  const limit = isWhole ? 1 : Math.max(0, ...ran.map(({ id }) => places.get(id)))
  const counted = drawn.filter(({ id }) => places.get(id) <= limit)
  const valid = counted.filter(({ status }) => ENDS.includes(status))
  console.log(
    `${places.size} mutants in these files, ${counted.length} drawn, ${valid.length} valid`,
  )
  for (const status of new Set(counted.map((mutant) => mutant.status))) {
    console.log(`  ${status}: ${counted.filter((mutant) => mutant.status === status).length}`)
  }
  if (valid.length === 0) return
  const killed = valid.filter(({ status }) => status === 'Killed' || status === 'Timeout').length
  const interval = intervalOf(killed, valid.length).join(' to ')
  console.log(`mutation score ${percent(killed / valid.length)}, 95 % interval ${interval}`)
  const missed = valid.filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
  const open = missed.filter((mutant) => !isExplained(mutant))
  console.log(
    `${missed.length - open.length} of ${missed.length} that were not found are explained`,
  )
  for (const { status, path, line, mutatorName, source, replacement } of open) {
    console.log(`${status} ${path}:${line} ${mutatorName}\n  - ${source}`)
    console.log(`  + ${inOneLine(replacement).slice(0, 160)}`)
  }
}

process.chdir(ROOT)
mkdirSync('coverage', { recursive: true })
rmSync('coverage/stryker', { recursive: true, force: true })
writeFileSync('coverage/mutants.jsonl', '')
process.env.ROWSTASH_MUTANTS_WIDE = values.wide ? '1' : '0'
process.env.ROWSTASH_MUTANTS_TESTS = modules.flatMap(({ tests }) => tests).join('\n')
installTools()
await drawSample()
await shufflePlan()
const { results } = await import('./mutant-results.mjs')
let isWhole = false
process.on('exit', () => printScore(results, isWhole))
await runMutants()
isWhole = true
