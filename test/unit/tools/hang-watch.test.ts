// A random test that hangs ends, and reports its choices.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runOptions } from '../../support/fast-check-options.js'
import { endHangs, HangWatch } from '../../support/hang-watch.js'
import { suiteSeed } from '../../support/ladder.js'
import { SEEDS_FOLDER } from '../../support/seed-record.js'

const never = new Promise<never>(() => undefined)

class Step implements fc.AsyncCommand<object, object> {
  constructor(
    readonly name: string,
    readonly work: Promise<unknown>,
  ) {}

  check(): boolean {
    return true
  }

  async run(): Promise<void> {
    await this.work
  }

  toString(): string {
    return this.name
  }
}

test('a run that hangs ends its property, and the error contains its seed and its values', async () => {
  const asked: number[] = []
  const property = fc.asyncProperty(fc.nat(), async (n) => {
    asked.push(n)
    if (asked.length === 3) await never
  })

  const failure = await fc.assert(property, { seed: 7, plugins: [endHangs(7, 0)] }).catch(String)

  expect(failure).toBe(`Error: Run 2 of seed 7 hangs after 0 s, with [${asked[2]}]`)
  expect(asked).toHaveLength(3) // No smaller case is tried: it could hang as long.
})

test('the last command shown of a run that hangs is the one still running', async () => {
  const steps = [
    fc.constant(new Step('first', Promise.resolve())),
    fc.constant(new Step('stuck', never)),
  ]
  const commands = fc.commands(steps, { size: 'max', maxCommands: 20 })
  const property = fc.asyncProperty(commands, (run) =>
    fc.asyncModelRun(() => ({ model: {}, real: {} }), run),
  )

  const failure = await fc.assert(property, { seed: 7, plugins: [endHangs(7, 0)] }).catch(String)

  expect(failure).toMatch(/^Error: Run \d+ of seed 7 hangs after 0 s, with \[(first,)*stuck /)
})

test('a failure of a watched property is shrunk and reported as usual', async () => {
  const property = fc.asyncProperty(fc.nat(), async (n) => n < 10)

  await expect(fc.assert(property, { seed: 7, plugins: [endHangs(7)] })).rejects.toThrow(
    /Property failed after[\s\S]*Counterexample: \[10\]/,
  )
})

test('the time of each run counts for itself', async () => {
  const watch = new HangWatch(1)
  const pause = (): Promise<string> => new Promise((done) => setTimeout(() => done('done'), 700))
  const hangs = (): Error => new Error('hangs')

  for (let run = 0; run < 4; run++) expect(await watch.race(pause(), hangs)).toBe('done')
  await expect(watch.race(never, hangs)).rejects.toThrow('hangs')
  watch.end()
})

test('a seed is written down before the runs', () => {
  const { seed } = runOptions(1)
  const ofRung = suiteSeed()

  const text = readFileSync(join(SEEDS_FOLDER, 'test-unit-tools-hang-watch.test.ts.txt'), 'utf8')
  const name = 'a seed is written down before the runs'
  expect(text.split('\n').map((line) => line.replace(/^\S+ /, ''))).toEqual([
    `ROWSTASH_SEED=${seed} ${name}`,
    `ROWSTASH_SEED=${ofRung} ${name}`,
    '',
  ])
})
