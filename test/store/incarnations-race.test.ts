// Goal: whatever concurrent processes do on one store, and however they are paused, resumed or ended, nothing
// acknowledged is lost, and nothing unused remains.
// Method: engines work in an order drawn from a seed, without any grace period. A paused one resumes before or after
// the others have ended it. At the end an engine reads what was acknowledged, and verifies the store.
import { expect, test } from 'vitest'
import { isStoreError, type Team } from '../../src/index.js'
import { randomTestSeed } from '../support/seed-record.js'
import { seeded } from '../support/seeded.js'
import { fifthOf } from '../support/what-runs.js'
import { type Engine, EngineWorld, LEASE_MS, turns } from './engine-world.js'

const RUNS = fifthOf(25)
const STEPS = 60
const ENGINES = 3

const OPTIONS = {
  orphanGraceMs: 0,
  overwrittenRowsTtlMs: 0,
  overwrittenRowSetsMax: 0,
  maintenance: { compactionRecordsMin: 1 },
}

/** What was acknowledged. */
class Ledger {
  readonly added = new Set<number>()
  readonly chunks = new Map<string, Set<number>>()
  readonly files = new Set<string>()
  /** Attempted overwrites. The table has the content of one of them, or the first content. */
  readonly written = new Set<number>([0])
  failures = 0
  #next = 1

  next(): number {
    return this.#next++
  }
}

type Random = ReturnType<typeof seeded>

class Run {
  readonly #random: Random
  readonly #world: EngineWorld
  readonly #ledger = new Ledger()
  readonly #working = new Map<Engine, Set<Promise<void>>>()
  #engines: Engine[] = []
  #tables: readonly [adds: string, overwrites: string] = ['', '']

  constructor(seed: number, world: EngineWorld) {
    this.#random = seeded(seed)
    this.#world = world
  }

  async run(): Promise<Ledger> {
    for (let i = 0; i < ENGINES; i++) this.#engines.push(await this.#world.open(OPTIONS))
    const [first] = this.#engines
    if (first === undefined) throw new Error('There are engines')
    const made = async (): Promise<string> => {
      return (await first.store.team('t').createTable({ name: 'x', rows: [{ n: 0 }] })).tableId
    }
    this.#tables = [await made(), await made()]
    for (let step = 0; step < STEPS; step++) await this.#step()
    await this.#check()
    return this.#ledger
  }

  async #step(): Promise<void> {
    const random = this.#random
    const engine = random.pick(this.#engines)
    const kind = random.below(20)
    if (kind < 9) this.#begin(engine, () => this.#operate(engine.store.team('t')))
    else if (kind < 12) this.#begin(engine, async () => void (await engine.store.maintain()))
    else if (kind < 14) engine.stop()
    else if (kind < 16) engine.goOn()
    else if (kind === 16) {
      engine.kill()
      const next = await this.#world.open(OPTIONS)
      this.#engines = this.#engines.map((one) => (one === engine ? next : one))
    } else await this.#world.pass((1 + random.below(4)) * (LEASE_MS / 3))
    const some = random.below(4)
    for (let turn = 0; turn < some; turn++) await new Promise((done) => setImmediate(done))
  }

  #begin(engine: Engine, work: () => Promise<void>): void {
    const of = this.#working.get(engine) ?? new Set()
    this.#working.set(engine, of)
    const working = work().catch((failure: unknown) => {
      // Without a grace period, objects may be deleted while they are read.
      if (!isStoreError(failure)) throw failure
      this.#ledger.failures++
    })
    of.add(working)
  }

  async #operate(team: Team): Promise<void> {
    const ledger = this.#ledger
    const n = ledger.next()
    const [adds, overwrites] = this.#tables
    switch (this.#random.below(5)) {
      case 0:
        await team.table(adds).addRows([{ n }])
        ledger.added.add(n)
        return
      case 1:
        ledger.written.add(n)
        await team.table(overwrites).overwrite({ rows: [{ n }] })
        return
      case 2: {
        const serial = String(this.#random.below(3))
        const chunk = ledger.chunks.get(serial) ?? new Set<number>()
        ledger.chunks.set(serial, chunk)
        await team.stash('s').put(serial, [{ n }])
        chunk.add(n)
        return
      }
      case 3: {
        const about = { fileName: 'a.txt', contentType: 'text/plain' }
        ledger.files.add((await team.files.put(`file ${n}`, about)).id)
        return
      }
      default: {
        const { rows } = await team.table(adds).page()
        const row = this.#random.pick(rows)
        await team.table(adds).updateRow(row.$rowID, { n: row['n'] as number })
      }
    }
  }

  async #check(): Promise<void> {
    const ledger = this.#ledger
    for (const engine of this.#engines) engine.goOn()
    for (const engine of this.#engines) await Promise.all(this.#working.get(engine) ?? [])
    const last = await this.#world.open(OPTIONS)
    for (let i = 0; i < 4; i++) {
      await last.store.maintain()
      await this.#world.pass(LEASE_MS)
    }
    const { findings } = await last.store.verify({ full: true })
    expect(findings).toEqual([])
    const team = last.store.team('t')
    const [adds, overwrites] = this.#tables
    const numbers = (await team.table(adds).page()).rows.map(({ n }) => n)
    expect([...ledger.added].filter((n) => !numbers.includes(n))).toEqual([])
    expect(new Set(numbers).size).toBe(numbers.length)
    const [row, ...others] = (await team.table(overwrites).page()).rows
    expect(ledger.written).toContain(row?.['n'])
    expect(others).toEqual([])
    for (const id of ledger.files) expect(await last.store.files.open(id)).not.toBeNull()
    const serials = [...ledger.chunks].filter(([, chunk]) => chunk.size > 0)
    if (serials.length > 0) {
      const made = await team.createTable({ name: 'stashed', rows: team.stash('s') })
      expect(made.rowIds.length).toBeGreaterThanOrEqual(serials.length)
    }
    await turns()
  }
}

test(`nothing is lost or left over in ${RUNS} runs of several processes`, async () => {
  const seed = randomTestSeed()
  let failures = 0
  let acknowledged = 0
  for (let run = 0; run < RUNS; run++) {
    const ledger = await new Run(seed + run, await EngineWorld.create()).run()
    failures += ledger.failures
    acknowledged += ledger.added.size + ledger.files.size
  }
  console.log(`incarnations: ${acknowledged} rows and files acknowledged, ${failures} refused`)
  expect(acknowledged).toBeGreaterThan(RUNS)
})
