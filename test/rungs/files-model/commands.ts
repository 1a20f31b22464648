// The commands of fast-check: one operation, several at once, sweeps, crashes, and time.
import fc from 'fast-check'
import { show } from '../model/operation.js'
import { newContent } from './file-operations.js'
import { anyHeldOperation, anyHeldSweep } from './held-commands.js'
import { type Operation, outcomeOf } from './operation.js'
import type { Oracle } from './oracle.js'
import type { StopAt } from './ports.js'
import { checkSettled, reconcile } from './reconcile.js'
import {
  anyInstance,
  anyStop,
  command,
  heldThroughout,
  named,
  passTime,
  placeOf,
  type RunCommand,
  runAlone,
  sweepAlone,
} from './run-command.js'
import { anySpec, bind, type Spec } from './specs.js'
import { createUpload, putInRace, settleUploadRace } from './upload-operations.js'

function one(spec: Spec, instance: number): RunCommand {
  return command(`${show(spec)} at ${instance}`, async (oracle, world) => {
    const operation = bind(spec, oracle, world.clock.now())
    if (operation !== null) await runAlone(operation, instance, oracle, world)
  })
}

/** Operations at once that have nothing in common, each store sweeping meanwhile or not. */
function race(specs: readonly Spec[], sweeps: boolean, seed: number): RunCommand {
  return command(
    `race ${seed}${sweeps ? ' with sweeps' : ''} ${show(specs)}`,
    async (oracle, world) => {
      const now = world.clock.now()
      if (sweeps) oracle.doubt(now)
      const operations = bindApart(specs, oracle, now)
      const before = oracle.heldByPlace(now)
      const sweeping = sweeps ? world.incarnations().map((_, i) => world.store(i).sweep()) : []
      for (const { pace } of world.incarnations()) pace.start(seed)
      const running = operations.map((operation, i) => outcomeOf(() => operation.run(world, i)))
      const [outcomes] = await Promise.all([Promise.all(running), ...sweeping])
      for (const { pace } of world.incarnations()) pace.stop()
      operations.forEach((operation, i) => {
        const outcome = outcomes[i]
        if (outcome === undefined) return
        named(operation.text, () => operation.settle(outcome, placeOf(world, oracle, sweeps)))
      })
      if (sweeps) oracle.sweep(now)
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
  sweeps: boolean
}>

/** PUTs and completions of one upload at once. */
function raceOnUpload({ seed, isReceived, receives, completes, sweeps }: UploadRace): RunCommand {
  const text = `race ${seed} on an upload: ${isReceived ? 'after a PUT, ' : ''}${receives} PUTs, ${completes} completions${sweeps ? ', sweeps' : ''}`
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
    if (sweeps) oracle.doubt(now)
    for (const { pace } of world.incarnations()) pace.start(seed)
    const sweeping = sweeps ? world.incarnations().map((_, i) => world.store(i).sweep()) : []
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
    await Promise.all(sweeping)
    for (const { pace } of world.incarnations()) pace.stop()
    settleUploadRace(oracle, upload, received, completed, now)
    if (sweeps) oracle.sweep(now)
    await reconcile(world, oracle, oracle.held(now))
  })
}

/** The store crashes at some step of an operation, and is opened again. */
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
  return command(`sweep twice at ${instance}`, async (oracle, world) => {
    const now = world.clock.now()
    for (let i = 0; i < 2; i++) await world.store(instance).sweep()
    oracle.sweep(now)
    await checkSettled(world, oracle, await reconcile(world, oracle, oracle.held(now)))
  })
}

function reopen(instance: number): RunCommand {
  return command(`reopen ${instance}`, (_, world) => world.reopen(instance))
}

function sweepOnce(instance: number): RunCommand {
  return command(`sweep at ${instance}`, (oracle, world) => sweepAlone(instance, oracle, world))
}

const anySeed = fc.nat()

const anyRace = fc
  .tuple(fc.array(anySpec, { minLength: 1, maxLength: 4 }), fc.boolean(), anySeed)
  .map(([specs, sweeps, seed]) => race(specs, sweeps, seed))

const anyUploadRace = fc
  .record({
    seed: anySeed,
    isReceived: fc.boolean(),
    receives: fc.nat({ max: 3 }),
    completes: fc.integer({ min: 1, max: 2 }),
    sweeps: fc.boolean(),
  })
  .map(raceOnUpload)

/** Commands in their weights. fast-check draws from a list evenly, so all are in one. */
export function anyCommands(): fc.Arbitrary<RunCommand>[] {
  const commands: { weight: number; arbitrary: fc.Arbitrary<RunCommand> }[] = [
    { weight: 34, arbitrary: fc.tuple(anySpec, anyInstance).map((of) => one(...of)) },
    { weight: 12, arbitrary: anyHeldSweep },
    { weight: 3, arbitrary: anyHeldOperation },
    { weight: 5, arbitrary: anyRace },
    { weight: 2, arbitrary: anyUploadRace },
    { weight: 5, arbitrary: fc.tuple(anySpec, anyInstance, anyStop).map((of) => crashIn(...of)) },
    { weight: 6, arbitrary: anyInstance.map(sweepOnce) },
    { weight: 5, arbitrary: anyInstance.map(settle) },
    { weight: 9, arbitrary: passTime },
    { weight: 2, arbitrary: anyInstance.map(reopen) },
  ]
  return [fc.oneof(...commands)]
}
