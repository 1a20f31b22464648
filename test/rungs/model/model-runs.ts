// A run of the model: a profile and commands drawn by fast-check, and everything that must hold at its end.
import fc from 'fast-check'
import { runOptions } from '../../support/fast-check-options.js'
import { endHangs } from '../../support/hang-watch.js'
import { recordedSeeds, report, suiteSeed } from '../../support/ladder.js'
import { anyCommands } from './commands.js'
import { checkAll, checkLeaks, checkRewrites, checkStashes, checkVerified } from './final-check.js'
import { Model } from './model.js'
import { anyWipes, withWipes } from './wipes.js'
import { type Instances, type Medium, type Profile, World } from './world.js'

const HOUR_MS = 3_600_000

/** Small sizes, so that small data takes every path: row records, segments, pages, frames read again. */
const anySmallSizes = fc.record({
  inlineRowsMax: fc.constantFrom(3, 3, 0, 1_000),
  inlineBytesMax: fc.constantFrom(200, 262_144),
  segmentRowsMax: fc.constantFrom(4, 4, 1, 65_536),
  segmentBytesMax: fc.constantFrom(4_194_304, 1_024),
  pageRowsMax: fc.constantFrom(5, 5, 100),
  pageBytesMax: fc.constantFrom(1_024, 16_777_216),
})

/** Only row records, in pages that are full by bytes. */
const rowRecords = fc.constant({
  inlineRowsMax: 1_000,
  inlineBytesMax: 262_144,
  segmentRowsMax: 65_536,
  segmentBytesMax: 4_194_304,
  pageRowsMax: 100,
  pageBytesMax: 1_024,
})

function anyProfile(instances: readonly Instances[]): fc.Arbitrary<Profile> {
  return fc
    .record({
      instances: fc.constantFrom(...instances),
      keyed: fc.boolean(),
      sizes: fc.oneof(
        { weight: 5, arbitrary: anySmallSizes },
        { weight: 1, arbitrary: rowRecords },
      ),
      options: fc.record({
        cacheBytesMax: fc.constantFrom(0, 2_000, 16_777_216),
        overwrittenRowsTtlMs: fc.constantFrom(HOUR_MS, HOUR_MS, 0),
        overwrittenRowSetsMax: fc.constantFrom(2, 2, 1, 0),
        historyRetentionMs: fc.constantFrom(0, 0, HOUR_MS, 30 * 24 * HOUR_MS),
        orphanGraceMs: fc.constantFrom(600_000, 0),
        maintenance: fc.record({
          compactionRecordsMin: fc.constantFrom(1, 1, 3, 64),
          recompressionAgeMs: fc.constantFrom(0, 0, HOUR_MS),
          recompressionSavingMin: fc.constantFrom(0, 10),
        }),
        recompression: fc.constantFrom('auto', 'deflate'),
        stashTtlMs: fc.constant(48 * HOUR_MS),
        idempotencyTtlMs: fc.constant(24 * HOUR_MS),
      }),
    })
    .map(({ instances, keyed, sizes, options }) => {
      // Short rows like these would otherwise be compressed when they are written, and leave nothing to recompress.
      const isRaw = options.cacheBytesMax !== 2_000
      const written = { ...sizes, ...options, ...(isRaw && { compression: 'none' as const }) }
      return { instances, keyed, options: written }
    })
}

const COMMANDS_MAX = 40

export type Runs = Readonly<{
  /** The ID of the rung, and its special feature. */
  suite: readonly [id: string, of: string]
  count: number
  /** Possible numbers of stores of a run. */
  instances: readonly Instances[]
  newMedium(): Promise<Medium>
}>

export async function checkRuns({ suite, count, instances, newMedium }: Runs): Promise<void> {
  const [id, what] = suite
  const profiles = anyProfile(instances)
  const commands = fc.commands(anyCommands(), { maxCommands: COMMANDS_MAX, size: 'max' })
  // What is drawn last does not affect the others.
  const drawn = [profiles, fc.nat(), commands, anyWipes] as const
  const property = fc.asyncProperty(...drawn, async (profile, seed, run, wipes) => {
    const world = await World.open(await newMedium(), profile, seed)
    const model = new Model()
    try {
      await fc.asyncModelRun(() => ({ model, real: world }), withWipes(run, wipes))
      await checkStashes(model, world)
      await checkAll(model, world)
      await checkRewrites(model, world)
      await checkVerified(world)
      await checkLeaks(model, world)
      await checkAll(model, world)
      await checkVerified(world)
    } finally {
      world.pace.stop()
      await world.remove()
    }
  })
  for (const { seed: again, runs } of recordedSeeds(id)) {
    await fc.assert(property, { seed: again, numRuns: runs, plugins: [endHangs(again)] })
  }
  const seed = suiteSeed()
  const options = runOptions(count, seed)
  const startedAt = performance.now()
  let violations = 1
  try {
    await fc.assert(property, options)
    violations = 0
  } finally {
    const seconds = (performance.now() - startedAt) / 1_000
    report({
      suite: `${id} model, ${what}`,
      seed,
      runs: options.numRuns ?? count,
      seconds,
      violations,
    })
  }
}
