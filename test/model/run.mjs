// Runs the models of this folder. npx fetches Quint, which checks, simulates and compiles them; most traces are of the
// compiled model (compiled-model.mjs), which is compared with Quint's simulator first.
//
//     node test/model/run.mjs                    types, 20,000 traces of each model, all mutants
//     node test/model/run.mjs --traces 1000000 [MODEL]   so many traces of each model, or of one
//     node test/model/run.mjs --quint 1000 [MODEL]       so many in Quint's own simulator
//     node test/model/run.mjs --mutants [GUARD]  the mutants, or those of a guard: fails if one survives
//     node test/model/run.mjs --replay 1000      new traces, which two engines replay
//     node test/model/run.mjs --keep 1000        new traces, which replace those that `npm test` replays
//
// Environment: ROWSTASH_SEED sets the seed, an integer; default: a random one. A trace is named by its seed.
import { spawn } from 'node:child_process'
import { mkdtemp, open as openFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import process from 'node:process'
import { constants, gzipSync } from 'node:zlib'
import { compileModel, same } from './compiled-model.mjs'

const ROOT = join(import.meta.dirname, '../..')
const QUINT = '@informalsystems/quint@0.33.1'
/** Quint accepts any later version of this parser; some are broken. */
const PARSER = 'antlr4ts@0.5.0-alpha.4'
const CORPUS = join(import.meta.dirname, 'traces.jsonl.gz')

/** The models, each with the number of steps of a trace and all its invariants as one. */
const MODELS = {
  objects: { steps: 50, invariant: 'safeAndSwept' },
  duties: { steps: 50, invariant: 'safe' },
  versions: { steps: 50, invariant: 'safe' },
}

/** Traces of each model in the light check. */
const LIGHT = 20_000

/** Traces of Quint's simulator whose states the compiled model must reproduce. */
const COMPARED = 50

/** Traces within which a mutant must be found. From one seed, the rarest one kept its invariant for 60,000. */
const MUTANT_TRACES = 300_000

/** Traces between progress reports of a long run. */
const PROGRESS = 250_000

const TICK = { c: 23, thread: 0, k: 9 }

/** Turns of a thread of `objects`: the number of the turn, and its first choice. */
const turns = (thread, count, k = 0) => {
  return Array.from({ length: count }, (_, i) => ({ c: 20, thread, k: i === 0 ? k : 0 }))
}

/**
 * A process enters a team after a garbage collection has deleted its writer record, and before the deletion of its
 * record.
 */
const ENDED_LATE = [
  ...[...turns(2, 3), ...turns(1, 5), TICK, ...turns(1, 3), ...turns(2, 2)],
  ...[...turns(1, 5), TICK, ...turns(1, 7), ...turns(2, 1)],
]

/** A scan pins rows after a garbage collection has read the pins, and before it lists overwritten rows. */
const PINNED_LATE = [
  ...[...turns(0, 6, 3), ...turns(2, 1, 8), ...turns(1, 1), ...turns(2, 2), ...turns(0, 1, 5)],
  ...[...turns(1, 6), TICK, ...turns(1, 7)],
]

/**
 * Guards, by their names in the models, and the invariant that fails without each. Where such traces are rare, each
 * begins with given steps.
 */
const MUTANTS = [
  ['objects', 'writerCheck', 'linkedStay'],
  ['objects', 'enterCheck', 'linkedStay'],
  ['objects', 'recordFirst', 'linkedStay'],
  ['objects', 'endedFirst', 'linkedStay', ENDED_LATE],
  ['objects', 'deleteWriters', 'linkedStay'],
  ['objects', 'keepUnknown', 'linkedStay'],
  ['objects', 'othersPending', 'linkedStay'],
  ['objects', 'twoMarks', 'neededStay'],
  ['objects', 'grace', 'neededStay'],
  ['objects', 'holds', 'neededStay'],
  ['objects', 'publishHold', 'neededStay'],
  ['objects', 'pins', 'neededStay'],
  ['objects', 'pinsLast', 'neededStay', PINNED_LATE],
  ['objects', 'pinRecheck', 'neededStay'],
  ['objects', 'incarnationSweep', 'safeAndSwept'],
  ['duties', 'workCheck', 'oneOwnerCommits'],
  ['duties', 'epoch', 'oneOwnerCommits'],
  ['duties', 'dataCheck', 'nothingLost'],
  ['duties', 'takeCheck', 'epochsDiffer'],
  ['versions', 'headCheck', 'versionsDiffer'],
  ['versions', 'headCheck', 'acknowledgedStay'],
  ['versions', 'raiseBase', 'versionsDiffer'],
  ['versions', 'recoverFirst', 'versionsDiffer'],
  ['versions', 'commitsCheckBase', 'versionsDiffer'],
  ['versions', 'readsCheckBase', 'versionsDiffer'],
  ['versions', 'synchronous', 'acknowledgedStay'],
  ['versions', 'fence', 'deniedStayOut'],
]

const SEED = Number(process.env.ROWSTASH_SEED ?? Math.floor(Math.random() * 2 ** 30))

/** Runs a program with its output in a file: Quint ends before a pipe has taken all of it. */
async function run(command, args, env = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-output-'))
  const file = await openFile(join(folder, 'output'), 'w+')
  try {
    const stdio = ['ignore', file.fd, file.fd]
    const child = spawn(command, args, { cwd: ROOT, env: { ...process.env, ...env }, stdio })
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    return { code: code ?? 1, output: await readFile(join(folder, 'output'), 'utf8') }
  } finally {
    await file.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** @throws {Error} the output of Quint */
async function quint(args) {
  const packages = [QUINT, PARSER].map((name) => `--package=${name}`)
  const npx = ['--yes', '--prefer-offline', ...packages, '--', 'quint']
  const { code, output } = await run('npx', [...npx, ...args])
  if (code !== 0) throw new Error(`quint ${args.join(' ')}\n${output}`)
  return output
}

/** Creates an instance of a model with all its guards, in a file for `use`. */
async function withInstance(model, use) {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-model-'))
  try {
    const from = relative(folder, join(import.meta.dirname, model))
    const flags = model === 'objects' ? ', REPLAYED = false' : ''
    const file = join(folder, 'instance.qnt')
    const text = `module instance { import ${model}(WITHOUT = ""${flags}).* from "${from}" }\n`
    await writeFile(file, text)
    return await use(file, folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const compiled = new Map()

/** The output of Quint's compiler for a model, which checks its types. */
async function compile(model) {
  const known = compiled.get(model)
  if (known !== undefined) return known
  const { invariant } = MODELS[model]
  const output = await withInstance(model, (file) => {
    return quint(['compile', file, '--target=json', `--invariant=${invariant}`, '--verbosity=0'])
  })
  const json = JSON.parse(output.split('\n').find((line) => line.startsWith('{')))
  compiled.set(model, json)
  return json
}

/** Runs Quint's simulator, and passes its traces to `useTrace`. @throws {Error} a trace that breaks an invariant */
function simulate(model, traces, more = [], useTrace = async () => undefined) {
  const { steps, invariant } = MODELS[model]
  return withInstance(model, async (file, folder) => {
    const sizes = [`--max-samples=${traces}`, `--max-steps=${steps}`, `--seed=${SEED}`]
    const how = ['--backend=typescript', '--verbosity=2', `--invariant=${invariant}`]
    const itf = more.length === 0 ? [] : [...more, `--out-itf=${join(folder, '{seq}.itf.json')}`]
    await quint(['run', file, '--main=instance', ...sizes, ...how, ...itf])
    for (const name of await readdir(folder)) {
      if (!name.endsWith('.itf.json')) continue
      await useTrace(JSON.parse(await readFile(join(folder, name), 'utf8')))
    }
  })
}

/** The probability, in tenths, that a trace takes a favourite. */
const FAVOURED = [0, 5, 8]

/** Favourites of a trace per choice. */
const FAVOURITES = 3

/**
 * Random choices of a trace. Each trace has its favourites, so that some pause in one thread for long, and some repeat
 * the same steps. Uniform choices would make these cases rare.
 */
class Choices {
  /** The choices of the next step, if they are given. */
  given
  #state = 1
  #favoured = 0
  #favourites = {}

  begin(seed) {
    this.#state = (Math.imul(seed, 0x9e3779b1) ^ 0x6a09e667) | 1
    for (let i = 0; i < 8; i++) this.below(2)
    this.#favoured = FAVOURED[this.below(FAVOURED.length)]
    this.#favourites = {}
  }

  below(limit) {
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    return (this.#state >>> 0) % limit
  }

  pick(name, elements) {
    if (this.given !== undefined) return this.given[name]
    const any = () => this.below(elements.length)
    if (this.below(10) >= this.#favoured) return elements[any()]
    this.#favourites[name] ??= Array.from({ length: FAVOURITES }, any)
    return elements[this.#favourites[name][this.below(FAVOURITES)] % elements.length]
  }
}

/** A compiled model that chooses at random. */
async function open(model, values) {
  const choices = new Choices()
  const pick = (name, elements) => choices.pick(name, elements)
  return { choices, it: compileModel(await compile(model), values)(pick) }
}

/** Runs traces of a compiled model. @returns the first that breaks an invariant; null: none */
async function explore(model, values, invariant, traces, more = {}) {
  const { choices, it } = await open(model, values)
  const { onProgress = () => undefined, given = [] } = more
  for (let trace = 0; trace < traces; trace++) {
    choices.begin(SEED + trace)
    choices.given = undefined
    it.init()
    for (let step = 0; step < Math.max(MODELS[model].steps, given.length); step++) {
      choices.given = given[step]
      if (!it.step()) break
      if (!it.holds(invariant))
        return { seed: SEED + trace, traces: trace + 1, step, state: it.state }
    }
    if ((trace + 1) % PROGRESS === 0) onProgress(trace + 1)
  }
  return null
}

/** Checks that the compiled model reaches the states of traces of Quint's simulator when it makes their choices. */
async function compareWithQuint(model) {
  let chosen = {}
  const it = compileModel(await compile(model))((name) => chosen[name])
  let states = 0
  await simulate(model, COMPARED, [`--n-traces=${COMPARED}`, '--mbt'], async (itf) => {
    let before
    for (const found of itf.states) {
      const state = stateOf(found)
      chosen = Object.fromEntries(
        Object.entries(found['mbt::nondetPicks']).map(([name, { value }]) => [name, plain(value)]),
      )
      if (before === undefined) it.init()
      else {
        it.state = before
        it.step()
      }
      if (!same(it.state, state)) {
        const [is, must] = [it.state, state].map((one) => JSON.stringify(one))
        throw new Error(`The compiled model ${model} has ${is}, and must have ${must}`)
      }
      before = state
      states++
    }
  })
  console.log(`${model}: ${states} states of Quint's simulator are those of the compiled model`)
}

/** Runs traces of a model. None may break an invariant. */
async function checkModel(model, traces) {
  const { steps, invariant } = MODELS[model]
  await compareWithQuint(model)
  const began = performance.now()
  const secondsOf = () => (performance.now() - began) / 1000
  const onProgress = (done) => {
    if (done < traces) console.log(`  ${model}: ${done} traces, ${Math.round(secondsOf())} s`)
  }
  const found = await explore(model, {}, invariant, traces, { onProgress })
  if (found !== null) {
    console.dir(found, { depth: null })
    throw new Error(`The model ${model} breaks ${invariant}: ROWSTASH_SEED=${found.seed}`)
  }
  const [seconds, rate] = [secondsOf().toFixed(0), Math.round((traces * steps) / secondsOf())]
  console.log(
    `${model}: ${traces} traces of ${steps} steps hold ${invariant}, ${seconds} s, ${rate} steps/s`,
  )
}

async function checkWithQuint(model, traces) {
  const began = performance.now()
  await simulate(model, traces)
  const seconds = Math.round((performance.now() - began) / 1000)
  const { steps, invariant } = MODELS[model]
  console.log(
    `${model}: ${traces} traces of ${steps} steps in Quint hold ${invariant}, ${seconds} s`,
  )
}

/** Runs the models with one guard removed at a time: an invariant must break. */
async function checkMutants(word) {
  const chosen = MUTANTS.filter(([, guard]) => word === undefined || guard === word)
  const survivors = []
  for (const [model, guard, invariant, given = []] of chosen) {
    if (given.length > 0 && (await explore(model, {}, invariant, 1, { given })) !== null) {
      throw new Error(`The steps for ${guard} break ${invariant} with the guard, too`)
    }
    const found = await explore(model, { WITHOUT: guard }, invariant, MUTANT_TRACES, { given })
    const end = found === null ? `KEEPS ${invariant}` : `breaks ${invariant}`
    const after = found === null ? MUTANT_TRACES : found.traces
    console.log(`${model} without ${guard}: ${end} (${after} traces, seed ${found?.seed ?? SEED})`)
    if (found === null) survivors.push(guard)
  }
  if (survivors.length > 0) throw new Error(`These mutants survive: ${survivors.join(', ')}`)
  console.log(`mutants: all ${chosen.length} break an invariant`)
}

/** A value of the Informal Trace Format as the compiled model represents it. */
function plain(value) {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plain)
  if ('#bigint' in value) return Number(value['#bigint'])
  if ('#tup' in value) return value['#tup'].map(plain)
  if ('#set' in value) return new Set(value['#set'].map(plain))
  if ('#map' in value) return new Map(value['#map'].map(([key, of]) => [plain(key), plain(of)]))
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, plain(of)]))
}

function stateOf(state) {
  const found = Object.entries(state).find(([name]) => /(?:^|::)s$/.test(name))
  return plain(found?.[1])
}

/** The part of a state that engines show. */
function shownOf({ stored, owner, kv, op, sweep, refused }) {
  const sorted = (set) => [...set].sort((left, right) => left - right)
  const records = [...kv.records]
    .sort(([left], [right]) => left - right)
    .map(([inc, { ended, holds, pin, free }]) => [inc, ended, holds, pin, sorted(free)])
  const isWhole = (need) => [...need].every((object) => stored.has(object))
  return {
    stored: sorted(stored),
    owner,
    cur: kv.cur,
    retired: sorted(kv.retired),
    chunks: sorted(kv.chunks),
    used: sorted(kv.used),
    records,
    writers: sorted(kv.writers),
    refused: sorted(refused),
    op: op.map(({ at, kind, object, need }) => [at, kind, object, isWhole(need)]),
    sweep: sweep.map(({ at }) => at),
  }
}

/** The part of a state that has changed, as test/model/trace.ts reads it. */
function packed(state, before) {
  const shown = shownOf(state)
  const was = before === undefined ? {} : shownOf(before)
  const changes = Object.entries(shown).filter(([name, of]) => {
    return JSON.stringify(of) !== JSON.stringify(was[name])
  })
  return [...state.did, Object.fromEntries(changes)]
}

/** Traces per replayed one, from which it is chosen. */
const CANDIDATES = 20

/** The kind of a step, to find rare ones: from where to where a thread goes, and what it is refused. */
function kindOfStep(before, after) {
  const [kind, process, choice] = after.did
  const { at, kind: of } = before.op[process]
  const isRefused = after.refused.size > before.refused.size
  if (kind === 'sweep') return `${before.sweep[process].at} ${after.sweep[process].at}`
  if (kind !== 'work') return `${kind} ${at} ${before.sweep[process].at}`
  return `${of} ${at} ${after.op[process].at} ${at === 'commit' && choice > 6} ${isRefused}`
}

/** The seeds of the traces with the rarest steps. */
function rarest({ choices, it }, count) {
  const found = Array.from({ length: CANDIDATES * count }, (_, i) => {
    const kinds = new Set()
    eachStep({ choices, it }, SEED + i, (after, before) => {
      if (before !== undefined) kinds.add(kindOfStep(before, after))
    })
    return { seed: SEED + i, kinds }
  })
  const often = new Map()
  for (const { kinds } of found) {
    for (const kind of kinds) often.set(kind, (often.get(kind) ?? 0) + 1)
  }
  const rarity = ({ kinds }) => [...kinds].reduce((sum, kind) => sum + 1 / often.get(kind), 0)
  const ranked = found.map((trace) => ({ ...trace, rarity: rarity(trace) }))
  ranked.sort((left, right) => right.rarity - left.rarity)
  console.log(`replay: ${count} of ${found.length} traces, which have ${often.size} kinds of steps`)
  return ranked.slice(0, count).map(({ seed }) => seed)
}

function eachStep({ choices, it }, seed, use) {
  choices.begin(seed)
  it.init()
  use(it.state)
  for (let step = 0; step < MODELS.objects.steps; step++) {
    const before = it.state
    it.step()
    use(it.state, before)
  }
}

/** New traces of the model `objects`, one per line. */
async function makeTraces(count) {
  await compareWithQuint('objects')
  const opened = await open('objects', { REPLAYED: true })
  const lines = rarest(opened, count).map((seed) => {
    const steps = []
    eachStep(opened, seed, (after, before) => steps.push(packed(after, before)))
    return JSON.stringify(steps)
  })
  return `${lines.join('\n')}\n`
}

async function replay(path) {
  const vitest = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--config']
  const files = ['test/vitest.config.ts', 'test/model/replay.test.ts']
  const { code, output } = await run(process.execPath, [...vitest, ...files], {
    ROWSTASH_TRACES: path,
  })
  console.log(output)
  if (code !== 0) throw new Error(`Engines do otherwise than the model; the traces are in ${path}`)
}

async function replayNew(count) {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-traces-'))
  const path = join(folder, 'traces.jsonl')
  await writeFile(path, await makeTraces(count))
  await replay(path)
  await rm(folder, { recursive: true, force: true })
}

async function keepNew(count) {
  const bytes = gzipSync(await makeTraces(count), { level: constants.Z_BEST_COMPRESSION })
  await writeFile(CORPUS, bytes)
  console.log(`${CORPUS}: ${count} traces, ${bytes.length} bytes`)
  await replay(CORPUS)
}

async function main([mode, value, only]) {
  console.log(`${QUINT}, seed ${SEED}`)
  const models = Object.keys(MODELS).filter((model) => only === undefined || model === only)
  if (mode === '--mutants') return checkMutants(value)
  if (mode === '--replay') return replayNew(Number(value))
  if (mode === '--keep') return keepNew(Number(value))
  if (mode === '--quint') {
    for (const model of models) await checkWithQuint(model, Number(value))
    return
  }
  if (mode !== undefined && mode !== '--traces') {
    throw new Error(`Unknown option ${mode}; see the beginning of this file`)
  }
  for (const model of models) await checkModel(model, mode === undefined ? LIGHT : Number(value))
  if (mode === undefined) await checkMutants()
}

await main(process.argv.slice(2))
