// The common parts of the commands of a run.
import fc from 'fast-check'
import { Mismatch } from '../model/operation.js'
import { checkFiles } from './file-operations.js'
import { type Operation, outcomeOf, type Place } from './operation.js'
import type { Oracle } from './oracle.js'
import type { StopAt } from './ports.js'
import { listObjects, readRecords } from './raw-state.js'
import { reconcile } from './reconcile.js'
import type { World } from './world.js'

export type Model = Readonly<{ oracle: Oracle }>
export type RunCommand = fc.AsyncCommand<Model, World>

export function command(
  text: string,
  run: (oracle: Oracle, world: World) => Promise<void>,
): RunCommand {
  return {
    check: () => true,
    run: ({ oracle }, world) => run(oracle, world),
    toString: () => text,
  }
}

export function placeOf({ clock }: World, oracle: Oracle, isMaintained = false): Place {
  return { oracle, now: clock.now(), isMaintained }
}

/** Runs an operation and compares it with the oracle. If it is refused, nothing may have changed. */
export async function runAlone(
  operation: Operation,
  instance: number,
  oracle: Oracle,
  world: World,
): Promise<void> {
  const { text, refused } = operation
  const before = refused === 'never' ? '' : await readRecords(world)
  const objects = refused === 'nothing' ? await listObjects(world) : []
  const outcome = await outcomeOf(() => operation.run(world, instance))
  named(text, () => operation.settle(outcome, placeOf(world, oracle)))
  if ('value' in outcome || refused === 'never') return
  if ((await readRecords(world)) !== before) {
    throw new Mismatch(`${text} was refused, and has changed records`)
  }
  if (refused === 'records') return
  const left = (await listObjects(world)).filter((id) => !objects.includes(id))
  if (left.length > 0) throw new Mismatch(`${text} was refused, and has left an object`)
}

/** Adds the operation's text to a mismatch. */
export function named(text: string, settle: () => void): void {
  try {
    settle()
  } catch (failure) {
    throw failure instanceof Mismatch ? new Mismatch(`${text}: ${failure.message}`) : failure
  }
}

export async function maintainAlone(instance: number, oracle: Oracle, world: World): Promise<void> {
  await world.store(instance).maintain()
  const now = world.clock.now()
  oracle.maintain(now)
  await reconcile(world, oracle, oracle.held(now))
  await checkFiles(world, instance, oracle)
}

type Held = ReadonlyMap<string, ReadonlySet<string>>

/** The files that the same place held before and after, and so at each moment between. */
export function heldThroughout(before: Held, after: Held): ReadonlySet<string> {
  const held = [...before].flatMap(([place, files]) => {
    return [...files].filter((file) => after.get(place)?.has(file))
  })
  return new Set(held)
}

export const anyInstance = fc.nat({ max: 1 })

/** Any of the steps that an operation may have. */
export const anyStop: fc.Arbitrary<StopAt> = fc.record({
  step: fc.constantFrom('', '', 'commit', 'object', '+0c', '+0d'),
  skip: fc.nat({ max: 12 }),
  side: fc.constantFrom('before', 'after'),
})

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

export const anySpan = fc.constantFrom(
  MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  6 * HOUR_MS,
  23 * HOUR_MS,
  DAY_MS,
  2 * DAY_MS,
  8 * DAY_MS,
  40 * DAY_MS,
)

const passSpan = anySpan.map((ms) =>
  command(`pass ${ms / HOUR_MS} hours`, async (_, { clock }) => clock.pass(ms)),
)

/** To the end of the time of a file or an upload, to the millisecond. */
const passToEnd = fc
  .tuple(fc.constantFrom('file', 'upload'), fc.nat({ max: 3 }), fc.constantFrom(0, 1))
  .map(([what, at, more]) =>
    command(`pass to the end of ${what} ${at} +${more}`, async (oracle, { clock }) => {
      const { fileRetentionMs } = oracle.limits
      const ends =
        what === 'file'
          ? [...oracle.files.values()].map(({ stored }) => stored.completedAt + fileRetentionMs)
          : oracle.uploads.slice(-4).flatMap((upload) => oracle.endsOfUpload(upload))
      const end = ends[at % Math.max(1, ends.length)] ?? 0
      clock.pass(Math.max(0, end + more - clock.now()))
    }),
  )

export const passTime: fc.Arbitrary<RunCommand> = fc.oneof(passSpan, passToEnd)
