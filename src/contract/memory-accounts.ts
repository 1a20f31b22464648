// Accounts of a budget: its holders and their bytes. Order and time are decided in memory-budget.ts.
//
// Invariant: the common part holds no more than its size, and of each team no more than half of it; the reserve
// belongs to one holder at most. So all together is never more than the budget.

export type Holder = {
  readonly team: string
  /** Bytes that it holds. Only the accounts change this. */
  bytes: number
}

export type BudgetSize = Readonly<{
  /** All holders together, in bytes; not less than `holderBytesMax`. */
  bytesMax: number
  /** One holder, in bytes. */
  holderBytesMax: number
}>

/** Limits of the common part, and of a team's half of it, for holders that could do with less. */
const SPARE_SHARE = 3 / 4

export class MemoryAccounts<H extends Holder> {
  readonly #holderMax: number
  readonly #commonMax: number
  readonly #teamMax: number
  #common = 0
  /** Bytes that teams hold of the common part; no entry: none. */
  readonly #teams = new Map<string, number>()
  #reserved: H | undefined

  constructor({ bytesMax, holderBytesMax }: BudgetSize) {
    this.#holderMax = holderBytesMax
    this.#commonMax = bytesMax - holderBytesMax
    this.#teamMax = Math.floor(this.#commonMax / 2)
  }

  /** What all hold together, and may hold, in bytes. */
  get bytes(): number {
    return this.#common + (this.#reserved?.bytes ?? 0)
  }

  get bytesMax(): number {
    return this.#commonMax + this.#holderMax
  }

  /** The holder of the reserve. */
  get reserved(): H | undefined {
    return this.#reserved
  }

  /** Whether `hold` may be called. The largest holder's size is all that a holder gets. */
  mayHold(holder: H, bytes: number): boolean {
    const more = Math.min(bytes, this.#holderMax) - holder.bytes
    return more <= 0 || holder === this.#reserved || this.#isFree(holder.team, more)
  }

  /** Whether so much is left after `hold` that others are not likely to wait. */
  hasSpare(holder: H, bytes: number): boolean {
    const more = bytes - holder.bytes
    const team = this.#commonOf(holder.team) + more
    return (
      this.#common + more <= SPARE_SHARE * this.#commonMax && team <= SPARE_SHARE * this.#teamMax
    )
  }

  hold(holder: H, bytes: number): void {
    const held = Math.min(bytes, this.#holderMax)
    if (holder !== this.#reserved) this.#charge(holder.team, held - holder.bytes)
    else if (held === 0) this.#reserved = undefined
    holder.bytes = held
  }

  /** Gives the reserve, which nobody has, to a holder, together with what it holds already. */
  giveReserve(holder: H): void {
    this.#charge(holder.team, -holder.bytes)
    this.#reserved = holder
  }

  /** Moves what the reserve holds into the common part if there is room, so that it is free for others. */
  clearReserve(): boolean {
    const holder = this.#reserved
    if (holder === undefined) return true
    if (!this.#isFree(holder.team, holder.bytes)) return false
    this.#charge(holder.team, holder.bytes)
    this.#reserved = undefined
    return true
  }

  /** All that a team holds. */
  heldBy(team: string): number {
    const { bytes } = this.#reserved?.team === team ? this.#reserved : { bytes: 0 }
    return this.#commonOf(team) + bytes
  }

  #isFree(team: string, bytes: number): boolean {
    return this.#common + bytes <= this.#commonMax && this.#commonOf(team) + bytes <= this.#teamMax
  }

  #commonOf(team: string): number {
    return this.#teams.get(team) ?? 0
  }

  #charge(team: string, more: number): void {
    const held = this.#commonOf(team) + more
    this.#common += more
    if (held === 0) this.#teams.delete(team)
    else this.#teams.set(team, held)
  }
}
