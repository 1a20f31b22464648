// The accounts of a budget: its holders and their bytes. memory-budget.ts decides on order and time.
//
// Invariant: all holders in the common part never have more than its size, those of one team never more than half of
// it, and those of one key never more than the key's limit. The reserve has at most one holder. So the sum never
// exceeds the budget.

export type Holder = {
  readonly team: string
  /** The name of the request's key; undefined: it has none. */
  readonly key?: string | undefined
  /** The holder's bytes. Only the accounts change this. */
  bytes: number
}

export type BudgetSize = Readonly<{
  /** Limit of all holders together, in bytes; at least `holderBytesMax`. */
  bytesMax: number
  /** Limit of one holder, in bytes. */
  holderBytesMax: number
  /** Limit of all holders of one key in the common part, in bytes. Default: none. */
  keyBytesMax?: number | undefined
}>

/** Share of the common part, and of a team's half of it, up to which optional memory (`trySpare`) is given. */
const SPARE_SHARE = 3 / 4

export class MemoryAccounts<H extends Holder> {
  readonly #holderMax: number
  readonly #commonMax: number
  readonly #teamMax: number
  readonly #keyMax: number | undefined
  #common = 0
  /** Bytes per team in the common part; no entry: none. */
  readonly #teams = new Map<string, number>()
  /** Bytes per key in the common part; empty if keys have no limit. */
  readonly #keys = new Map<string, number>()
  #reserved: H | undefined

  constructor({ bytesMax, holderBytesMax, keyBytesMax }: BudgetSize) {
    this.#keyMax = keyBytesMax
    this.#holderMax = holderBytesMax
    this.#commonMax = bytesMax - holderBytesMax
    this.#teamMax = Math.floor(this.#commonMax / 2)
  }

  /** Bytes of all holders together, at most `bytesMax`. */
  get bytes(): number {
    return this.#common + (this.#reserved?.bytes ?? 0)
  }

  get bytesMax(): number {
    return this.#commonMax + this.#holderMax
  }

  /** The holder of the reserve. */
  get reserveHolder(): H | undefined {
    return this.#reserved
  }

  /** Whether `hold` may be called. A holder gets at most `holderBytesMax`. */
  mayHold(holder: H, bytes: number): boolean {
    const more = Math.min(bytes, this.#holderMax) - holder.bytes
    return more <= 0 || holder === this.#reserved || this.#isFree(holder, more)
  }

  /** Whether so much memory remains free after `hold` that other holders are unlikely to have to wait. */
  hasSpare(holder: H, bytes: number): boolean {
    const more = bytes - holder.bytes
    const team = this.#commonOf(holder.team) + more
    return (
      this.#common + more <= SPARE_SHARE * this.#commonMax && team <= SPARE_SHARE * this.#teamMax
    )
  }

  hold(holder: H, bytes: number): void {
    const held = Math.min(bytes, this.#holderMax)
    if (holder !== this.#reserved) this.#charge(holder, held - holder.bytes)
    else if (held === 0) this.#reserved = undefined
    holder.bytes = held
  }

  /** Gives the unused reserve to a holder, and moves the holder's bytes there. */
  giveReserve(holder: H): void {
    this.#charge(holder, -holder.bytes)
    this.#reserved = holder
  }

  /** Moves the holder of the reserve to the common part if there is enough room. Then the reserve is free. */
  clearReserve(): boolean {
    const holder = this.#reserved
    if (holder === undefined) return true
    if (!this.#isFree(holder, holder.bytes)) return false
    this.#charge(holder, holder.bytes)
    this.#reserved = undefined
    return true
  }

  /** A team's bytes in both parts. */
  heldBy(team: string): number {
    const { bytes } = this.#reserved?.team === team ? this.#reserved : { bytes: 0 }
    return this.#commonOf(team) + bytes
  }

  #isFree({ team, key }: H, bytes: number): boolean {
    if (this.#common + bytes > this.#commonMax) return false
    if (this.#commonOf(team) + bytes > this.#teamMax) return false
    if (this.#keyMax === undefined || key === undefined) return true
    return (this.#keys.get(key) ?? 0) + bytes <= this.#keyMax
  }

  #commonOf(team: string): number {
    return this.#teams.get(team) ?? 0
  }

  #charge({ team, key }: H, more: number): void {
    this.#common += more
    chargeTo(this.#teams, team, more)
    if (this.#keyMax !== undefined && key !== undefined) chargeTo(this.#keys, key, more)
  }
}

function chargeTo(held: Map<string, number>, name: string, more: number): void {
  const bytes = (held.get(name) ?? 0) + more
  if (bytes === 0) held.delete(name)
  else held.set(name, bytes)
}
