// Memory for the bodies of requests, or for answers, that are in flight.
//
// A body has a room, which is charged for the memory that the body is in, as that grows and shrinks. Strangers decide
// how fast their bodies move, and so how long they hold their rooms. These rules keep that harmless:
//
// 1. The budget has two parts. The reserve is as large as the largest body, and one room at a time may use it.
//    All others share the common part.
// 2. A team holds at most half of the common part.
// 3. A room that finds no memory to grow waits in line. The team that holds least is first, then a small body, then
//    the longest wait. Whoever fits into the common part goes on; else the first in line gets the reserve, with
//    which it can grow to its end. A room leaves the reserve as soon as the common part can take it.
// 4. Nobody waits longer than WAIT_MS_MAX: then it is refused, and what it holds is free.
// 5. When the first in line has waited for SLOW_MS, rooms whose clients are slower than a megabyte a second lose what
//    they hold: that of the reserve, else those of teams that hold at least as much as the one that waits.
//
// What follows:
// - The budget is never exceeded: the common part is checked before it grows, and the reserve has one room.
// - There is no deadlock: the room in the reserve does not wait, so it comes to its end, or is slow and loses it.
//   Then the first in line has it. Everybody else goes on as others end, or is refused in time.
// - No team can stop another. One team alone leaves half of the common part free. If several fill all of it, a team
//   that holds nothing is first in line, and waits for one room, which moves on or loses the reserve.
import { monotonicMs } from '../base/clock.js'
import { every } from '../base/platform.js'
import { StoreError } from '../base/store-error.js'
import { type BudgetSize, type Holder, MemoryAccounts } from './memory-accounts.js'

/** Each holds a connection; beyond this many the answer is "try again". */
const WAITING_MAX = 1_000

/** Half of what proxies wait for. */
const WAIT_MS_MAX = 30_000

/** How long the first in line waits before slow rooms are taken, and over how long their pace is measured. */
const SLOW_MS = 2_000

/** About a megabyte a second. Slower clients are welcome as long as nobody waits. */
const BYTES_PER_MS_MIN = 1_000

const CHECK_MS = 500

/** Bodies up to this size go before larger ones of their team. */
const SMALL_BYTES_MAX = 64 * 1_024

export interface Room {
  /**
   * Makes the room so large; undefined: at once. A room must not be used while it waits.
   * @throws {StoreError} STORAGE_UNAVAILABLE, as a rejection: it waited too long, too many wait, or it was lost
   */
  resize(bytes: number): Promise<void> | undefined
  /** As `resize`, but never waits. false: there is no memory. */
  tryResize(bytes: number): boolean
  /** As `tryResize`, for what is good to have: false also when others may soon need the memory. */
  trySpare(bytes: number): boolean
  /** The client decides from now on how long the room is held (true), or we do. At first we do. */
  setMoving(isMoving: boolean): void
  /** Counts bytes that came from the client, or were taken by it. */
  moved(bytes: number): void
  /** Gives all back. The last call. */
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
  /** Bytes that moved since `paceSince`, and what the last measurement said. */
  movedBytes: number
  paceSince: number
  isSlow: boolean
}

export class MemoryBudget {
  readonly #accounts: MemoryAccounts<Occupant>
  readonly #name: string
  readonly #occupants = new Set<Occupant>()
  readonly #line = new Set<Occupant>()
  #timer: (() => void) | undefined

  /** @param name - What the memory is for and which option sets it, for messages. */
  constructor(size: BudgetSize, name = 'requests') {
    this.#accounts = new MemoryAccounts(size)
    this.#name = name
  }

  /** What all rooms hold together, in bytes. */
  get bytes(): number {
    return this.#accounts.bytes
  }

  /** What they may hold together, in bytes. */
  get bytesMax(): number {
    return this.#accounts.bytesMax
  }

  /** Rooms that wait for memory. */
  get waiting(): number {
    return this.#line.size
  }

  /**
   * A room that holds nothing yet.
   * @param onLost - Called once, with STORAGE_UNAVAILABLE, if what it holds is taken back (rule 5): let go of it at once.
   */
  open(team: string, onLost: (failure: StoreError) => void): Room {
    const pace = { isMoving: false, movedBytes: 0, paceSince: 0, isSlow: false }
    const occupant: Occupant = {
      team,
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
    if (this.#line.size >= WAITING_MAX) throw this.#noMemory('too many requests wait for it')
    const admitted = new Promise<void>((admit, refuse) => {
      occupant.waiting = { bytes, since: monotonicMs(), admit, refuse }
    })
    this.#line.add(occupant)
    this.#serve()
    this.#startChecks()
    await admitted
  }

  /** Lets everybody go on for whom there is memory now. */
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

  /** The first in line of those that `isAsked` takes. */
  #first(isAsked: (occupant: Occupant, waiting: Waiting) => boolean): Occupant | undefined {
    let first: Occupant | undefined
    for (const occupant of this.#line) {
      if (occupant.waiting === undefined || !isAsked(occupant, occupant.waiting)) continue
      if (first === undefined || this.#isBefore(occupant, first)) first = occupant
    }
    return first
  }

  /** Rule 3, of two of whom the second has waited longer. */
  #isBefore(occupant: Occupant, other: Occupant): boolean {
    const less = this.#accounts.heldBy(occupant.team) - this.#accounts.heldBy(other.team)
    return less !== 0 ? less < 0 : isSmall(occupant) && !isSmall(other)
  }

  #leaveLine(occupant: Occupant): Waiting | undefined {
    const { waiting } = occupant
    occupant.waiting = undefined
    this.#line.delete(occupant)
    beginPace(occupant, monotonicMs())
    if (this.#line.size === 0) this.#stopChecks()
    return waiting
  }

  /** Time matters only while somebody waits. */
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
      if (now - (occupant.waiting?.since ?? now) < WAIT_MS_MAX) continue
      this.#leaveLine(occupant)?.refuse(
        this.#noMemory(`none was free for ${WAIT_MS_MAX / 1_000} s`),
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

  /** The holder whose memory is taken next for a team (rule 5). */
  #slowest(team: string): Occupant | undefined {
    const { reserved } = this.#accounts
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

  /** For those whose memory was taken back. */
  #lost(): StoreError {
    return this.#noMemory('a client that was too slow lost its share to others that waited')
  }

  /** The error for work that got no memory. Such work has not begun. */
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

function isSmall({ waiting }: Occupant): boolean {
  return waiting !== undefined && waiting.bytes <= SMALL_BYTES_MAX
}

function beginPace(occupant: Occupant, now: number): void {
  occupant.paceSince = now
  occupant.movedBytes = 0
  occupant.isSlow = false
}

/** Measures how fast an occupant moves. One that waits for the server is not slow. */
function measurePace(occupant: Occupant, now: number): void {
  const { isMoving, waiting, paceSince, movedBytes } = occupant
  const isMeasured = isMoving && waiting === undefined
  if (isMeasured && now - paceSince < SLOW_MS) return
  beginPace(occupant, now)
  occupant.isSlow = isMeasured && movedBytes < BYTES_PER_MS_MIN * (now - paceSince)
}
