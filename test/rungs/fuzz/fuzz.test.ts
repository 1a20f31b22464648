// Goal: no outside bytes make the code do what it must never do.
// Method: inputs are changed at random. An input that runs code in a new way is kept and changed further. Where the
// same bytes can be read in two ways, both must agree.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { report, sizeOf, suiteSeed } from '../../support/ladder.js'
import { ROOT } from '../../support/project.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { changed } from './changes.js'
import { Coverage } from './coverage.js'
import { FOUND } from './found.js'
import { openTargets, type Target } from './targets.js'

const TIMEOUT_MS = 3_600_000

type Input = Uint8Array<ArrayBuffer>

let targets: readonly Target[]

beforeAll(async () => {
  targets = await openTargets(goldenRecords())
})

afterAll(async () => {
  for (const target of targets) await target.close?.()
})

function goldenRecords(): readonly Uint8Array[] {
  const folder = join(ROOT, 'test/format/golden')
  const names = readdirSync(folder).filter((name) => name.endsWith('.hex'))
  return names.map((name) => {
    const text = readFileSync(join(folder, name), 'latin1')
    return Uint8Array.from(Buffer.from(text.replace(/\s+/g, ''), 'hex'))
  })
}

const bytesOf = (seed: string | Uint8Array): Input =>
  typeof seed === 'string' ? new TextEncoder().encode(seed) : Uint8Array.from(seed)

/** The violation that an input caused; null: none. */
async function tried(
  target: Target,
  input: Input,
): Promise<Readonly<{ problem: string | null; isTaken: boolean }>> {
  try {
    return { problem: null, isTaken: await target.run(input) }
  } catch (failure) {
    const { message, stack = '' } = failure as Error
    const base64 = Buffer.from(input).toString('base64')
    const at = stack.split('\n').slice(1, 6).join('\n')
    return { problem: `${target.name}: ${message}\nThe input: ${base64}\n${at}`, isTaken: false }
  }
}

/** A random input, half the time one of the last. */
function picked(random: Seeded, inputs: readonly Input[]): Input | undefined {
  const last = inputs.length - random.below(16) - 1
  return random.once(2) ? inputs[last] : inputs[random.below(Math.max(1, inputs.length))]
}

/** Changes inputs of a target this many times. @returns the number of kept inputs, and the first problem */
async function fuzz(
  target: Target,
  runs: number,
  seed: number,
): Promise<Readonly<{ kept: number; problem: string | null }>> {
  const random = seeded(seed)
  const coverage = new Coverage()
  const kept = target.seeds.map(bytesOf)
  const taken: Input[] = []
  try {
    for (const input of kept) {
      const { problem, isTaken } = await tried(target, input)
      if (problem !== null) return { kept: kept.length, problem }
      if (isTaken) taken.push(input)
    }
    coverage.foundNew()
    for (let run = 0; run < runs; run++) {
      const from = picked(random, random.once(4) ? kept : taken) ?? random.pick(kept)
      const input = changed(random, from, kept, target.words)
      const { problem, isTaken } = await tried(target, input)
      if (problem !== null) return { kept: kept.length, problem }
      if (!coverage.foundNew()) continue
      kept.push(input)
      if (isTaken) taken.push(input)
    }
    return { kept: kept.length, problem: null }
  } finally {
    coverage.end()
  }
}

test('inputs that were found once do what they should', async () => {
  for (const [name, inputs] of Object.entries(FOUND)) {
    const target = targets.find((known) => known.name === name)
    if (target === undefined) throw new Error(`No target is named ${name}`)
    for (const input of inputs) {
      const { problem } = await tried(target, Uint8Array.from(Buffer.from(input, 'base64')))
      expect(problem).toBe(null)
    }
  }
})

test('no input makes the code do what it never may', { timeout: TIMEOUT_MS }, async () => {
  const seed = suiteSeed()
  const runs = sizeOf({ push: 2_000, deep: 100_000 })
  const problems: string[] = []
  for (const target of targets) {
    const startMs = performance.now()
    const { kept, problem } = await fuzz(target, runs, seed)
    if (problem !== null) problems.push(problem)
    report({
      suite: `T24 fuzz, ${target.name}, ${kept} kept`,
      seed,
      runs,
      seconds: (performance.now() - startMs) / 1_000,
      violations: problem === null ? 0 : 1,
    })
  }

  expect(problems.join('\n\n')).toBe('')
})
