// The commands of fast-check: single and concurrent operations, garbage collections, crashes, and time.
import fc from 'fast-check'
import { show } from '../model/operation.js'
import { newContent } from './file-operations.js'
import { anyHeldMaintenance, anyHeldOperation } from './held-commands.js'
import { type Operation, outcomeOf } from './operation.js'
import type { Oracle } from './oracle.js'
import type { StopAt } from './ports.js'
import { checkSettled, reconcile } from './reconcile.js'
import {
  anyInstance,
  anyStop,
  command,
  heldThroughout,
  maintainAlone,
  named,
  passTime,
  placeOf,
  type RunCommand,
  runAlone,
} from './run-command.js'
import { anySpec, bind, type Spec } from './specs.js'
import { createUpload, putInRace, settleUploadRace } from './upload-operations.js'

function one(spec: Spec, instance: number): RunCommand {
  return command(`${show(spec)} at ${instance}`, async (oracle, world) => {
    const operation = bind(spec, oracle, world.clock.now())
    if (operation !== null) await runAlone(operation, instance, oracle, world)
  })
}

/** Concurrent operations on different things; each store may collect garbage meanwhile. */
function race(specs: readonly Spec[], runs: boolean, seed: number): RunCommand {
  return command(
    `race ${seed}${runs ? ' with garbage collections' : ''} ${show(specs)}`,
    async (oracle, world) => {
      const now = world.clock.now()
      if (runs) oracle.doubt(now)
      const operations = bindApart(specs, oracle, now)
      const before = oracle.heldByPlace(now)
      const maintaining = runs ? world.incarnations().map((_, i) => world.store(i).maintain()) : []
      for (const { pace } of world.incarnations()) pace.start(seed)
      const running = operations.map((operation, i) => outcomeOf(() => operation.run(world, i)))
      const [outcomes] = await Promise.all([Promise.all(running), ...maintaining])
      for (const { pace } of world.incarnations()) pace.stop()
      operations.forEach((operation, i) => {
        const outcome = outcomes[i]
        if (outcome === undefined) return
        named(operation.text, () => operation.settle(outcome, placeOf(world, oracle, runs)))
      })
      if (runs) oracle.maintain(now)
      await reconcile(world, oracle, heldThroughout(before, oracle.heldByPlace(now)))
    },
  )
}

function bindApart(specs: readonly Spec[], oracle: Oracle, now: number): Operation[] {
  const taken = new Set<string>()
  return specs.flatMap((spec) => {
    const operation = bind(spec, oracle, now)
    if (operation === null || oracle.isPastPlace(operation.places, now)) return []
    if (operation.places.some((place) => taken.has(place))) return []
    for (const place of operation.places) taken.add(place)
    return [operation]
  })
}

type UploadRace = Readonly<{
  seed: number
  /** Whether bytes were put before. */
  isReceived: boolean
  receives: number
  completes: number
  runs: boolean
}>

/** Concurrent PUTs and completions of one upload. */
function raceOnUpload({ seed, isReceived, receives, completes, runs }: UploadRace): RunCommand {
  const text = `race ${seed} on an upload: ${isReceived ? 'after a PUT, ' : ''}${receives} PUTs, ${completes} completions${runs ? ', garbage collections' : ''}`
  return command(text, async (oracle, world) => {
    await runAlone(createUpload(oracle, { hasLength: false, app: null }), 0, oracle, world)
    const upload = oracle.uploads.at(-1)
    if (upload === undefined) throw new Error('the upload was created')
    if (isReceived) {
      const content = newContent(oracle)
      await world.store(0).files.receive(putInRace(upload, content))
      Object.assign(upload, { received: [content], receivedAt: [world.clock.now()] })
    }
    const now = world.clock.now()
    if (runs) oracle.doubt(now)
    for (const { pace } of world.incarnations()) pace.start(seed)
    const maintaining = runs ? world.incarnations().map((_, i) => world.store(i).maintain()) : []
    const receiving = Array.from({ length: receives }, async (_, i) => {
      const content = newContent(oracle)
      const run = () => world.store(i).files.receive(putInRace(upload, content))
      return { content, outcome: await outcomeOf(run) }
    })
    const completing = Array.from({ length: completes }, (_, i) =>
      outcomeOf(() => world.team(i).files.completeUpload(upload.uploadId)),
    )
    const received = await Promise.all(receiving)
    const completed = await Promise.all(completing)
    await Promise.all(maintaining)
    for (const { pace } of world.incarnations()) pace.stop()
    settleUploadRace(oracle, upload, received, completed, now)
    if (runs) oracle.maintain(now)
    await reconcile(world, oracle, oracle.held(now))
  })
}

/** The store crashes at some step of an operation, and is reopened. */
function crashIn(spec: Spec, instance: number, at: StopAt): RunCommand {
  return command(
    `crash ${describeStop(at)} of ${show(spec)} at ${instance}`,
    async (oracle, world) => {
      const operation = bind(spec, oracle, world.clock.now())
      if (operation === null) return
      const { incarnation } = world.at(instance)
      incarnation.crashAt(at)
      const outcome = await outcomeOf(() => operation.run(world, instance))
      incarnation.noStop()
      const place = placeOf(world, oracle)
      if (!incarnation.isGone) return named(operation.text, () => operation.settle(outcome, place))
      await world.reopen(instance)
      await operation.recover(world, instance, place)
      await reconcile(world, oracle, oracle.held(place.now))
    },
  )
}

function describeStop({ step, skip, side }: StopAt): string {
  return `${side} step ${skip}${step === '' ? '' : ` of "${step}"`}`
}

function settle(instance: number): RunCommand {
  return command(`garbage collection twice at ${instance}`, async (oracle, world) => {
    const now = world.clock.now()
    for (let i = 0; i < 2; i++) await world.store(instance).maintain()
    oracle.maintain(now)
    await checkSettled(world, oracle, await reconcile(world, oracle, oracle.held(now)))
  })
}

function reopen(instance: number): RunCommand {
  return command(`reopen ${instance}`, (_, world) => world.reopen(instance))
}

function maintainOnce(instance: number): RunCommand {
  return command(`garbage collection at ${instance}`, (oracle, world) =>
    maintainAlone(instance, oracle, world),
  )
}

const anySeed = fc.nat()

const anyRace = fc
  .tuple(fc.array(anySpec, { minLength: 1, maxLength: 4 }), fc.boolean(), anySeed)
  .map(([specs, runs, seed]) => race(specs, runs, seed))

const anyUploadRace = fc
  .record({
    seed: anySeed,
    isReceived: fc.boolean(),
    receives: fc.nat({ max: 3 }),
    completes: fc.integer({ min: 1, max: 2 }),
    runs: fc.boolean(),
  })
  .map(raceOnUpload)

/** Commands by weight. fast-check draws evenly from a list, so a command appears in it as often as its weight. */
export function anyCommands(): fc.Arbitrary<RunCommand>[] {
  const commands: { weight: number; arbitrary: fc.Arbitrary<RunCommand> }[] = [
    { weight: 34, arbitrary: fc.tuple(anySpec, anyInstance).map((of) => one(...of)) },
    { weight: 12, arbitrary: anyHeldMaintenance },
    { weight: 3, arbitrary: anyHeldOperation },
    { weight: 5, arbitrary: anyRace },
    { weight: 2, arbitrary: anyUploadRace },
    { weight: 5, arbitrary: fc.tuple(anySpec, anyInstance, anyStop).map((of) => crashIn(...of)) },
    { weight: 6, arbitrary: anyInstance.map(maintainOnce) },
    { weight: 5, arbitrary: anyInstance.map(settle) },
    { weight: 9, arbitrary: passTime },
    { weight: 2, arbitrary: anyInstance.map(reopen) },
  ]
  return [fc.oneof(...commands)]
}
