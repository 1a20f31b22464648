// A budget of memory for all request bodies, or for all responses, that are in progress.
//
// Each body has a room, which is charged for the body's memory as it grows and shrinks. Clients decide how fast bodies
// move, and so how long rooms are held. These rules bound the effect:
//
// 1. The budget has two parts. The reserve is as large as the largest body, and one room at a time may use it. All
//    others share the common part.
// 2. A team holds at most half of the common part. If keys have a limit, a key holds at most this limit of the common
//    part.
// 3. A room that finds no memory to grow waits in line. The room of the team that holds least is first; within a team,
//    small bodies are before others, and then the room that has waited longest. A room that fits into the common part
//    continues; otherwise the first in line gets the reserve, in which it can grow to its full size. A room leaves the
//    reserve as soon as the common part can take it.
// 4. A room that has waited for `waitMsMax` is refused, and its memory is released.
// 5. When the first in line has waited for SLOW_MS, rooms whose clients are slower than a megabyte a second lose their
//    memory: the room in the reserve, otherwise rooms of teams that hold at least as much as the waiting team.
//
// Consequences:
// - The budget is never exceeded: the common part is checked before it grows, and the reserve has one room.
// - There is no deadlock: the room in the reserve does not wait, so it ends, or it is slow and loses the reserve, which
//   the first in line then gets. Every other waiting room continues when rooms end, or is refused after `waitMsMax`.
// - No team can stop another. One team alone leaves half of the common part free. If several teams fill the whole
//   common part, a team that holds nothing is first in line, and waits only for the room in the reserve, which ends or
//   loses the reserve.
import { monotonicMs } from '../../base/clock.js'
import { every } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'
import { CONTRACT_LIMITS } from './contract-limits.js'
import { type BudgetSize, type Holder, MemoryAccounts } from './memory-accounts.js'

/** Maximum number of waiting rooms, each of which holds a connection. Further rooms get STORAGE_UNAVAILABLE. */
const WAITING_MAX = 1_000

/** Default of the maximum wait for memory, in milliseconds. */
const WAIT_MS_MAX = CONTRACT_LIMITS.waitMsMax.default

/**
 * How long the first in line waits before slow rooms lose memory, and the period in which pace is measured, in
 * milliseconds.
 */
const SLOW_MS = 2_000

/** Pace below which a client is slow: about 1 MB/s. Slow clients matter only while rooms wait. */
const BYTES_PER_MS_MIN = 1_000

const CHECK_MS = 500

/** Bodies up to this size, in bytes, come before larger bodies of their team. */
const SMALL_BYTES_MAX = 64 * 1_024

export interface Room {
  /**
   * Resizes the room. Returns undefined if the caller need not wait. A room must not be used while it waits.
   * @throws {StoreError} STORAGE_UNAVAILABLE, as a rejection: the room waited too long, too many rooms wait, or the
   *   room lost its memory
   */
  resize(bytes: number): Promise<void> | undefined
  /** Resizes without waiting: returns false if there is no memory. */
  tryResize(bytes: number): boolean
  /** Resizes for optional memory, without waiting: also returns false if other rooms may soon need the memory. */
  trySpare(bytes: number): boolean
  /** Sets whether the room waits for its client (true) or for the server (false, the initial state). */
  setMoving(isMoving: boolean): void
  /** Counts bytes that the client sent or took. */
  moved(bytes: number): void
  /** Releases all memory. Must be the last call. */
  close(): void
}

type Waiting = Readonly<{
  bytes: number
  since: number
  admit: () => void
  refuse: (failure: StoreError) => void
}>

/** A room as the budget sees it. */
type Occupant = Holder & {
  readonly onLost: (failure: StoreError) => void
  waiting: Waiting | undefined
  isLost: boolean
  isMoving: boolean
  /** Bytes that moved since `paceSince`, and the result of the last measurement. */
  movedBytes: number
  paceSince: number
  isSlow: boolean
}

export class MemoryBudget {
  readonly #accounts: MemoryAccounts<Occupant>
  readonly #name: string
  readonly #waitMsMax: number
  readonly #occupants = new Set<Occupant>()
  readonly #line = new Set<Occupant>()
  #timer: (() => void) | undefined

  /**
   * @param name - What the memory is for, and the option that limits it, for messages.
   * @param waitMsMax - Longest wait of a room, in milliseconds.
   */
  constructor(size: BudgetSize, name = 'requests', waitMsMax = WAIT_MS_MAX) {
    this.#accounts = new MemoryAccounts(size)
    this.#name = name
    this.#waitMsMax = waitMsMax
  }

  /** Memory of all rooms, in bytes. */
  get bytes(): number {
    return this.#accounts.bytes
  }

  /** Limit of all rooms, in bytes. */
  get bytesMax(): number {
    return this.#accounts.bytesMax
  }

  /** The number of rooms that wait for memory. */
  get waitingCount(): number {
    return this.#line.size
  }

  /**
   * Opens an empty room.
   * @param onLost - Called once, with STORAGE_UNAVAILABLE, if the room loses its memory (rule 5): release it at once.
   * @param key - The name of the request's key, for its limit.
   */
  open(team: string, onLost: (failure: StoreError) => void, key?: string): Room {
    const pace = { isMoving: false, movedBytes: 0, paceSince: 0, isSlow: false }
    const occupant: Occupant = {
      team,
      key,
      bytes: 0,
      onLost,
      waiting: undefined,
      isLost: false,
      ...pace,
    }
    this.#occupants.add(occupant)
    return {
      resize: (bytes) =>
        this.#tryResize(occupant, bytes) ? undefined : this.#wait(occupant, bytes),
      tryResize: (bytes) => this.#tryResize(occupant, bytes),
      trySpare: (bytes) =>
        this.#accounts.hasSpare(occupant, bytes) && this.#tryResize(occupant, bytes),
      setMoving: (isMoving) => {
        occupant.isMoving = isMoving
        beginPace(occupant, monotonicMs())
      },
      moved: (bytes) => {
        occupant.movedBytes += bytes
      },
      close: () => {
        this.#tryResize(occupant, 0)
        this.#occupants.delete(occupant)
      },
    }
  }

  #tryResize(occupant: Occupant, bytes: number): boolean {
    if (occupant.isLost) return bytes === 0
    if (!this.#accounts.mayHold(occupant, bytes)) return false
    const before = occupant.bytes
    this.#accounts.hold(occupant, bytes)
    if (occupant.bytes < before) this.#serve()
    return true
  }

  async #wait(occupant: Occupant, bytes: number): Promise<void> {
    if (occupant.isLost) throw this.#lost()
    if (this.#line.size >= WAITING_MAX) throw this.#noMemory('too many requests are waiting for it')
    const admitted = new Promise<void>((admit, refuse) => {
      occupant.waiting = { bytes, since: monotonicMs(), admit, refuse }
    })
    this.#line.add(occupant)
    this.#serve()
    this.#startChecks()
    await admitted
  }

  /** Admits the waiting rooms for which there is now memory. */
  #serve(): void {
    const accounts = this.#accounts
    while (this.#line.size > 0) {
      const isReserveFree = accounts.clearReserve()
      const fitting = this.#first((occupant, { bytes }) => accounts.mayHold(occupant, bytes))
      const next = fitting ?? (isReserveFree ? this.#first(() => true) : undefined)
      if (next?.waiting === undefined) return
      if (fitting === undefined) accounts.giveReserve(next)
      accounts.hold(next, next.waiting.bytes)
      this.#leaveLine(next)?.admit()
    }
  }

  /** The room that is first in line among those that `isAsked` accepts. */
  #first(isAsked: (occupant: Occupant, waiting: Waiting) => boolean): Occupant | undefined {
    let first: Occupant | undefined
    for (const occupant of this.#line) {
      if (occupant.waiting === undefined || !isAsked(occupant, occupant.waiting)) continue
      if (first === undefined || this.#isBefore(occupant, first)) first = occupant
    }
    return first
  }

  /** Compares two rooms by rule 3. The second has waited longer. */
  #isBefore(occupant: Occupant, other: Occupant): boolean {
    const less = this.#accounts.heldBy(occupant.team) - this.#accounts.heldBy(other.team)
    return less !== 0 ? less < 0 : isSmallWait(occupant) && !isSmallWait(other)
  }

  #leaveLine(occupant: Occupant): Waiting | undefined {
    const { waiting } = occupant
    occupant.waiting = undefined
    this.#line.delete(occupant)
    beginPace(occupant, monotonicMs())
    if (this.#line.size === 0) this.#stopChecks()
    return waiting
  }

  /** Starts the periodic checks, which run only while rooms wait. */
  #startChecks(): void {
    if (this.#line.size === 0 || this.#timer !== undefined) return
    const now = monotonicMs()
    for (const occupant of this.#occupants) beginPace(occupant, now)
    this.#timer = every(CHECK_MS, () => this.#check(monotonicMs()))
  }

  #stopChecks(): void {
    this.#timer?.()
    this.#timer = undefined
  }

  #check(now: number): void {
    for (const occupant of this.#line) {
      if (now - (occupant.waiting?.since ?? now) < this.#waitMsMax) continue
      this.#leaveLine(occupant)?.refuse(
        this.#noMemory(`none became free within ${this.#waitMsMax / 1_000} s`),
      )
    }
    for (const occupant of this.#occupants) measurePace(occupant, now)
    const first = this.#first(() => true)
    if (first?.waiting === undefined || now - first.waiting.since < SLOW_MS) return
    while (first.waiting !== undefined) {
      const slow = this.#slowest(first.team)
      if (slow === undefined) return
      this.#take(slow)
    }
  }

  /** The room that next loses its memory for a waiting team (rule 5). */
  #slowest(team: string): Occupant | undefined {
    const { reserveHolder: reserved } = this.#accounts
    if (reserved?.isSlow) return reserved
    const held = ({ team, bytes }: Occupant): number => this.#accounts.heldBy(team) + bytes
    let slowest: Occupant | undefined
    for (const occupant of this.#occupants) {
      if (!occupant.isSlow || occupant.bytes === 0) continue
      if (this.#accounts.heldBy(occupant.team) < this.#accounts.heldBy(team)) continue
      if (slowest === undefined || held(occupant) > held(slowest)) slowest = occupant
    }
    return slowest
  }

  /** The error for a room that has lost its memory. */
  #lost(): StoreError {
    return this.#noMemory(
      'the client was too slow, and its share went to requests that were waiting',
    )
  }

  /** The error for work that got no memory, before it has begun. */
  #noMemory(problem: string): StoreError {
    const message = `There is not enough memory for ${this.#name}: ${problem}`
    return new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged' })
  }

  #take(occupant: Occupant): void {
    occupant.isLost = true
    occupant.isSlow = false
    this.#accounts.hold(occupant, 0)
    occupant.onLost(this.#lost())
    this.#serve()
  }
}

function isSmallWait({ waiting }: Occupant): boolean {
  return waiting !== undefined && waiting.bytes <= SMALL_BYTES_MAX
}

function beginPace(occupant: Occupant, now: number): void {
  occupant.paceSince = now
  occupant.movedBytes = 0
  occupant.isSlow = false
}

/** Measures an occupant's pace. An occupant that waits for the server is not slow. */
function measurePace(occupant: Occupant, now: number): void {
  const { isMoving, waiting, paceSince, movedBytes } = occupant
  const isMeasured = isMoving && waiting === undefined
  if (isMeasured && now - paceSince < SLOW_MS) return
  beginPace(occupant, now)
  occupant.isSlow = isMeasured && movedBytes < BYTES_PER_MS_MIN * (now - paceSince)
}
