// Commands that hold a store at one of its steps while others work: a garbage collection of files between its reads and
// its deletions, or an operation while garbage collections run.
import fc from 'fast-check'
import { show } from '../model/operation.js'
import { checkFiles, putFile } from './file-operations.js'
import { expectDone, outcomeOf } from './operation.js'
import type { Oracle } from './oracle.js'
import type { StopAt } from './ports.js'
import { reconcile } from './reconcile.js'
import { endStash } from './row-operations.js'
import {
  anyInstance,
  anySpan,
  anyStop,
  command,
  heldThroughout,
  maintainAlone,
  named,
  placeOf,
  type RunCommand,
  runAlone,
} from './run-command.js'
import { anyNaming, anySpec, bind, type Spec } from './specs.js'
import type { World } from './world.js'

/** The operations of others meanwhile. */
type Meanwhile =
  | Readonly<{ spec: Spec; instance: number }>
  | Readonly<{ passMs: number }>
  | Readonly<{ maintainAt: number }>

type HeldMaintenance = Readonly<{
  instance: number
  at: StopAt
  /** Files that are put first, which no row names yet. */
  files: number
  /** Whether time then passes until every file without a row may be deleted. */
  isLate: boolean
  meanwhile: readonly Meanwhile[]
  crashes: boolean
}>

function holdMaintenance(plan: HeldMaintenance): RunCommand {
  return command(`hold a garbage collection ${show(plan)}`, async (oracle, world) => {
    const { instance, at, files, isLate, meanwhile, crashes } = plan
    for (let i = 0; i < files; i++) {
      await runAlone(putFile(oracle, 'none'), instance, oracle, world)
    }
    if (isLate) world.clock.pass(oracle.limits.fileRetentionMs + 1)
    const { store, incarnation } = world.at(instance)
    const hold = incarnation.hold(at)
    const maintaining = outcomeOf(() => store.maintain())
    const first = await Promise.race([hold.reached, maintaining])
    if (first !== 'reached') {
      hold.release()
      expectDone(first)
      oracle.maintain(world.clock.now())
      await reconcile(world, oracle, oracle.held(world.clock.now()))
      return
    }
    oracle.doubt(world.clock.now())
    await reconcile(world, oracle, oracle.held(world.clock.now()))
    for (const step of meanwhile) await doMeanwhile(step, instance, oracle, world)
    if (crashes) incarnation.crash()
    hold.release()
    const outcome = await maintaining
    if (crashes) await world.reopen(instance)
    else expectDone(outcome)
    await endDoubtful(world, oracle)
    await reconcile(world, oracle, oracle.held(world.clock.now()))
    await checkFiles(world, instance, oracle)
  })
}

async function doMeanwhile(
  step: Meanwhile,
  held: number,
  oracle: Oracle,
  world: World,
): Promise<void> {
  if ('passMs' in step) {
    world.clock.pass(step.passMs)
    oracle.doubt(world.clock.now())
  } else if ('maintainAt' in step) {
    // A garbage collection of the held store would wait for its current one.
    const isOther = world.at(step.maintainAt) !== world.at(held)
    if (isOther) await maintainAlone(step.maintainAt, oracle, world)
  } else {
    const operation = bind(step.spec, oracle, world.clock.now())
    if (operation !== null) await runAlone(operation, step.instance, oracle, world)
  }
}

/** Certainly ends a stash that a garbage collection may have ended meanwhile. */
async function endDoubtful(world: World, oracle: Oracle): Promise<void> {
  for (const [id, stash] of [...oracle.stashes]) {
    if (!oracle.isSureStash(stash)) await endStash(world, 0, oracle, id)
  }
}

/** Holds an operation at a step while a store collects garbage. */
function holdOperation(spec: Spec, instance: number, at: StopAt, maintainer: number): RunCommand {
  const text = `hold ${show(at)} of ${show(spec)} at ${instance}, garbage collection at ${maintainer}`
  return command(text, async (oracle, world) => {
    const now = world.clock.now()
    const operation = bind(spec, oracle, now)
    if (operation === null || oracle.isPastPlace(operation.places, now)) return
    const before = oracle.heldByPlace(now)
    const { incarnation } = world.at(instance)
    const hold = incarnation.hold(at)
    const running = outcomeOf(() => operation.run(world, instance))
    const isReached = (await Promise.race([hold.reached, running])) === 'reached'
    if (isReached) {
      oracle.doubt(now)
      // The second of two garbage collections without grace deletes objects that the operation may be reading.
      const isSafe = !operation.readsRows || world.profile.options.orphanGraceMs > 0
      for (let runs = isSafe ? 2 : 1; runs > 0; runs--) await world.store(maintainer).maintain()
    }
    hold.release()
    const outcome = await running
    named(operation.text, () => operation.settle(outcome, placeOf(world, oracle, isReached)))
    if (isReached) oracle.maintain(now)
    await reconcile(world, oracle, heldThroughout(before, oracle.heldByPlace(now)))
    await checkFiles(world, instance, oracle)
  })
}

/** The steps at which a garbage collection is held: near its reads and its commits, or any. */
const anyMaintenanceStop: fc.Arbitrary<StopAt> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      step: fc.constantFrom('scan 05', 'scan 06', 'scan 09', 'object get'),
      skip: fc.nat({ max: 1 }),
      side: fc.constantFrom('before', 'after'),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      step: fc.constant('-0d'),
      skip: fc.constant(0),
      side: fc.constantFrom('before', 'before', 'before', 'after'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      step: fc.constantFrom('', 'object list', 'object delete', 'scan 0c', 'scan 10', 'commit'),
      skip: fc.nat({ max: 6 }),
      side: fc.constantFrom('before', 'after'),
    }),
  },
)

const anyMeanwhile: fc.Arbitrary<Meanwhile> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ spec: fc.oneof(anyNaming, anyNaming, anySpec), instance: anyInstance }),
  },
  { weight: 1, arbitrary: fc.record({ passMs: anySpan }) },
  { weight: 2, arbitrary: fc.record({ maintainAt: anyInstance }) },
)

export const anyHeldMaintenance: fc.Arbitrary<RunCommand> = fc
  .record({
    instance: anyInstance,
    at: anyMaintenanceStop,
    files: fc.nat({ max: 2 }),
    isLate: fc.constantFrom(true, true, false),
    meanwhile: fc.array(anyMeanwhile, { minLength: 1, maxLength: 4 }),
    crashes: fc.constantFrom(false, false, false, true),
  })
  .map(holdMaintenance)

export const anyHeldOperation: fc.Arbitrary<RunCommand> = fc
  .tuple(anySpec, anyInstance, anyStop, anyInstance)
  .map((of) => holdOperation(...of))
