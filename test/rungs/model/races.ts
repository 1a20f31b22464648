// Commands that run several operations at once. Some order must explain their answers.
import { KEY_SPACE } from '../../../src/format/keys.js'
import { type Model, placeOf, type RunCommand, runAlone, TABLES_MAX } from './model.js'
import { expectValue, type Operation, outcomeOf, show } from './operation.js'
import { maintain } from './oracle.js'
import { create, deleteStash, putChunk } from './row-operations.js'
import { checkInSomeOrder } from './some-order.js'
import { bind, type Spec } from './specs.js'
import { runMaintenanceInParts, scanAll } from './table-operations.js'
import type { World } from './world.js'

export class Race implements RunCommand {
  readonly #specs: readonly Spec[]
  readonly #seed: number

  constructor(specs: readonly Spec[], seed: number) {
    this.#specs = specs
    this.#seed = seed
  }

  check({ state }: Readonly<Model>): boolean {
    return state.tables.length < TABLES_MAX && state.tables.length > 0
  }

  async run(model: Model, world: World): Promise<void> {
    const operations = this.#specs.map((spec) => {
      return bind(spec, model.state, { ...world.profile, isAlone: false })
    })
    world.pace.start(this.#seed)
    const outcomes = await Promise.all(operations.map((one) => outcomeOf(one, world)))
    world.pace.stop()
    world.noteEnd()
    model.states = checkInSomeOrder(model.states, operations, outcomes, placeOf(world))
  }

  toString(): string {
    return `race ${this.#seed} ${show(this.#specs)}`
  }
}

const RACE_STASH = 'race'

/** Serials of the stash. While the first chunk is put, the others arrive, so that they share an object. */
const SERIALS = ['0', '1', '2', '3'] as const

/** Turns of the event loop after which these chunks wait for their put. */
const TURNS_OF_PUTS = 20

/**
 * A table is created from a stash while one of its chunks is replaced or the stash is deleted, and at least two garbage
 * collections delete what nothing names. The table must be complete, with either chunk. The chunks share an object.
 */
export class StashRace implements RunCommand {
  readonly #seed: number
  readonly #deletes: boolean
  readonly #holds: boolean

  /**
   * @param deletes - Whether the stash is deleted; otherwise its chunk is replaced.
   * @param holds - Whether the change comes when the table is about to be committed; otherwise at any time.
   */
  constructor(seed: number, deletes: boolean, holds: boolean) {
    this.#seed = seed
    this.#deletes = deletes
    this.#holds = holds
  }

  check({ state }: Readonly<Model>): boolean {
    return state.tables.length < TABLES_MAX
  }

  async run(model: Model, world: World): Promise<void> {
    await putTogether(model, world)
    const ref = { stash: RACE_STASH }
    const operations = [
      create(0, { name: RACE_STASH, ref, schema: null, onSchemaError: 'abort', key: null }),
      this.#deletes ? deleteStash(0, RACE_STASH) : putRaceChunk('2', 'after'),
    ] as const
    world.pace.start(this.#seed)
    // The commit that links the chunk contains the table's catalog entry.
    const held = this.#holds ? world.pace.hold(KEY_SPACE.catalog) : null
    const made = outcomeOf(operations[0], world)
    if (held !== null) await Promise.race([held.reached, made])
    const changed = await outcomeOf(operations[1], world)
    for (let runs = 0; runs < 3; runs++) await world.store(0).maintain()
    held?.release()
    const outcomes = [await made, changed]
    world.pace.stop()
    world.noteEnd()
    model.states = checkInSomeOrder(model.states, operations, outcomes, placeOf(world))
    for (const one of [maintainEffects(), deleteStash(0, RACE_STASH)]) {
      await runAlone(one, model, world)
    }
    const table = model.state.tables.at(-1)
    if (table?.name === RACE_STASH) {
      await runAlone(scanAll({ instance: 0, tableId: table.id }), model, world)
    }
  }

  toString(): string {
    const change = this.#deletes ? 'deleted' : 'replaced'
    return `race ${this.#seed} of a stash ${change} in use${this.#holds ? ', before the commit' : ''}`
  }
}

async function putTogether(model: Model, world: World): Promise<void> {
  const puts = SERIALS.map((serial) => putRaceChunk(serial, `before ${serial}`))
  const held = world.pace.holdPut()
  const running = puts.map((put) => outcomeOf(put, world))
  await Promise.race([held.reached, Promise.all(running)])
  for (let turn = 0; turn < TURNS_OF_PUTS; turn++) await new Promise((done) => setImmediate(done))
  held.release()
  const outcomes = await Promise.all(running)
  model.states = checkInSomeOrder(model.states, puts, outcomes, placeOf(world))
}

function putRaceChunk(serial: string, text: string): Operation {
  const sample = { json: JSON.stringify(text), field: text }
  const rows = [[['a', sample] as const]]
  const ref = { rows: { form: 'objects', rows, times: 9, claims: [] } } as const
  return putChunk(0, { stash: RACE_STASH, serial, ref })
}

/** The garbage collections have run. One more, which the oracle sees, has the same effect. */
function maintainEffects(): Operation {
  return {
    text: 'garbage collection again',
    run: (world) => world.store(0).maintain(),
    check(state, outcome, place) {
      expectValue(outcome)
      maintain(state, { ...place, instance: 0 })
    },
  }
}

/** A whole change is made while a garbage collection is about to list the objects. */
export class MaintenanceRace implements RunCommand {
  readonly #seed: number
  readonly #change: Spec

  constructor(seed: number, change: Spec) {
    this.#seed = seed
    this.#change = change
  }

  check({ state }: Readonly<Model>): boolean {
    return state.tables.length < TABLES_MAX && state.tables.length > 0
  }

  async run(model: Model, world: World): Promise<void> {
    const { profile, pace } = world
    const change = bind(this.#change, model.state, { ...profile, isAlone: false })
    const operations = [runMaintenanceInParts(0), change] as const
    pace.start(this.#seed)
    const held = pace.holdList()
    const report = outcomeOf(operations[0], world)
    await Promise.race([held.reached, report])
    const changed = await outcomeOf(change, world)
    held.release()
    const outcomes = [await report, changed]
    pace.stop()
    world.noteEnd()
    model.states = checkInSomeOrder(model.states, operations, outcomes, placeOf(world))
  }

  toString(): string {
    return `garbage collection ${this.#seed}, held before it lists the objects, beside ${show(this.#change)}`
  }
}

/** Rows are changed one after another while a compaction that has read them is about to replace them. */
export class CompactionRace implements RunCommand {
  readonly #seed: number
  readonly #changes: readonly Spec[]

  /** @param changes - Changes of rows whose result does not depend on whether they precede a garbage collection. */
  constructor(seed: number, changes: readonly Spec[]) {
    this.#seed = seed
    this.#changes = changes
  }

  check({ state }: Readonly<Model>): boolean {
    return state.tables.length > 0
  }

  async run(model: Model, world: World): Promise<void> {
    const maintaining = runMaintenanceInParts(0)
    world.pace.start(this.#seed)
    const held = world.pace.hold(KEY_SPACE.extentPage)
    const report = outcomeOf(maintaining, world)
    try {
      await Promise.race([held.reached, report])
      if (!held.isReached()) held.release() // There is nothing to compact.
      for (const spec of this.#changes) {
        const change = bind(spec, model.state, { ...world.profile, isAlone: false })
        await runAlone(change, model, world)
      }
    } finally {
      held.release()
      await report
      world.pace.stop()
    }
    model.states = checkInSomeOrder(model.states, [maintaining], [await report], placeOf(world))
  }

  toString(): string {
    return `compaction ${this.#seed}, held beside ${show(this.#changes)}`
  }
}
