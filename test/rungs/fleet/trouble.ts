// What goes wrong with a server of a fleet: it stops at a step and goes on later, a step takes long, its clock is set.
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../../src/ports.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import type { FleetPorts, ServerLine, TroubleJob } from './fleet-job.js'
import { overlaid, type Steps, steppedKv, steppedObjects } from './steps.js'

const CELL_BYTES = 8
/** Cells of the file: whether all is over, the clock of all, and from there on how far each server's is off. */
const OVER_CELL = 0
const WORLD_CELL = 1
const OWN_CELL = 2

/** So long a server works between two stops, about. */
const QUIET_MS = 4_000
/** Steps of which one in so many is slow: those of a disk. A garbage collection would not end if its scans were, too. */
const DISK_STEPS: ReadonlySet<string> = new Set(['before a get', 'before a stream', 'before a put'])
const SLOW_EVERY = 20

/** What the test tells its servers while they run: they look at each step, also at the first after they stopped. */
export class TroubleFile {
  readonly #file: number
  #worldMs = 0

  constructor(path: string, servers: number) {
    writeFileSync(path, new Uint8Array((OWN_CELL + servers) * CELL_BYTES))
    this.#file = openSync(path, 'r+')
  }

  /** Sets the clocks of all machines on, as after a suspend. */
  turnAll(ms: number): void {
    this.#worldMs += ms
    this.#write(WORLD_CELL, this.#worldMs)
  }

  /** Sets the clock of one server. */
  turn(place: number, offMs: number): void {
    this.#write(OWN_CELL + place, offMs)
  }

  /** Nothing goes wrong any more. */
  end(): void {
    this.#write(OVER_CELL, 1)
  }

  close(): void {
    closeSync(this.#file)
  }

  #write(cell: number, value: number): void {
    writeSync(this.#file, Float64Array.of(value), 0, CELL_BYTES, cell * CELL_BYTES)
  }
}

export class Trouble {
  readonly #job: TroubleJob
  readonly #tell: (line: ServerLine) => void
  readonly #random: Seeded
  readonly #file: number
  readonly #cells: Float64Array<ArrayBuffer>
  readonly #stops: Map<string, number>
  /** How often it came to a step: it stops seldom where it comes often. */
  readonly #met = new Map<string, number>()
  #quietUntil = 0

  constructor(job: TroubleJob, tell: (line: ServerLine) => void) {
    this.#job = job
    this.#tell = tell
    this.#random = seeded(job.seed)
    this.#file = openSync(job.file, 'r')
    this.#cells = new Float64Array(OWN_CELL + job.place + 1)
    this.#stops = new Map(Object.entries(job.stops))
  }

  /** What a store is opened with, instead of its ports. */
  portsOf({ kv, objects }: Pick<FleetPorts, 'kv' | 'objects'>) {
    const clock: Clock = {
      now: () => Date.now() + this.#cell(WORLD_CELL) + this.#cell(OWN_CELL + this.#job.place),
      monotonicMs: () => performance.now(),
    }
    const ask = kv.now?.bind(kv)
    const now = ask && (async () => (await ask()) + this.#cell(WORLD_CELL))
    const steps: Steps = {
      pass: (at) => void this.#step(at, false),
      wait: (at) => this.#step(at, true),
    }
    return {
      clock,
      kv: steppedKv(now ? overlaid(kv, { now }) : kv, steps),
      objects: steppedObjects(objects, steps),
    }
  }

  #step(at: string, canWait: boolean): Promise<void> | undefined {
    const stops = this.#stops.get(at)
    if (stops === undefined) {
      this.#stops.set(at, 0)
      this.#tell({ say: 'step', at })
    }
    const met = (this.#met.get(at) ?? 0) + 1
    this.#met.set(at, met)
    if (this.#cell(OVER_CELL) !== 0) return undefined
    const isDue = performance.now() >= this.#quietUntil && this.#random.once(1 + met * (stops ?? 0))
    const isSlow = DISK_STEPS.has(at) && this.#random.once(SLOW_EVERY)
    if (!isDue) return isSlow ? pause(this.#slowMs()) : undefined
    const slow = canWait && this.#random.once(4) ? pause(this.#leasesMs()) : this.#stop(at)
    this.#quietUntil = performance.now() + QUIET_MS / 2 + this.#random.below(QUIET_MS)
    return slow
  }

  /** So that what takes several of such steps is well below the grace, too. */
  #slowMs(): number {
    return this.#random.below(this.#job.graceMs / 8)
  }

  /** 0.3 to 5 leases, well below the grace: a read that is slower finds objects gone. */
  #leasesMs(): number {
    return Math.round(this.#job.leaseMs * (0.3 + this.#random.below(4_700) / 1_000))
  }

  /** Sometimes for longer than the grace, which a process notices. */
  #stop(at: string): undefined {
    const ms = this.#leasesMs() + (this.#random.once(8) ? this.#job.graceMs : 0)
    this.#stops.set(at, (this.#stops.get(at) ?? 0) + 1)
    this.#tell({ say: 'stopped', at, ms })
    process.kill(process.pid, 'SIGSTOP')
  }

  #cell(index: number): number {
    readSync(this.#file, this.#cells, 0, this.#cells.byteLength, 0)
    return this.#cells[index] ?? 0
  }
}
