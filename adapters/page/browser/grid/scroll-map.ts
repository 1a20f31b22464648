// Maps the scrollbar to rows. Browsers limit the height of an element. In a higher table, one pixel of the bar stands
// for several: a jump of the bar leads to the same share of the table, a small move scrolls by as many pixels.

/** The maximum height of the scrolled element, in pixels. Browsers' limits are higher: some tens of millions. */
const HEIGHT_MAX = 15_000_000

export class ScrollMap {
  readonly #rowHeight: number
  #rows = 0
  #view = 0
  #last = 0
  /** The offset of the first visible row from the beginning of the table, in pixels. */
  top = 0

  constructor(rowHeight: number) {
    this.#rowHeight = rowHeight
  }

  /** @param view - The visible height, in pixels. */
  resize(rows: number, view: number): void {
    this.#rows = rows
    this.#view = view
    this.top = this.#bounded(this.top)
  }

  /** The height of the scrolled element. */
  get height(): number {
    return Math.min(this.#total, HEIGHT_MAX)
  }

  /** Must be called when the bar has moved. A move by more than the visible height, or to an end, is a jump. */
  scrolled(scrollTop: number): void {
    const moved = scrollTop - this.#last
    this.#last = scrollTop
    const isAtEnd = scrollTop <= 0 || scrollTop >= this.height - this.#view - 1
    const isJump = !this.#isMapped || isAtEnd || Math.abs(moved) > this.#view
    this.top = this.#bounded(isJump ? scrollTop * this.#scale : this.top + moved)
  }

  /** The position of the bar that belongs to the visible rows. */
  settle(): number {
    this.#last = Math.round(this.top / this.#scale)
    return this.#last
  }

  /** Moves to an offset from the beginning of the table. @returns where the bar belongs then */
  moveTo(top: number): number {
    this.top = this.#bounded(top)
    return this.settle()
  }

  /** Whether a row is completely visible. */
  sees(row: number): boolean {
    const start = row * this.#rowHeight
    return start >= this.top && start + this.#rowHeight <= this.top + this.#view
  }

  /** Makes a row visible. @returns where the bar then belongs; undefined: the row is visible already */
  show(row: number): number | undefined {
    const start = row * this.#rowHeight
    const end = start + this.#rowHeight
    if (this.sees(row)) return undefined
    return this.moveTo(start < this.top ? start : end - this.#view)
  }

  get #total(): number {
    return this.#rows * this.#rowHeight
  }

  get #isMapped(): boolean {
    return this.#total > HEIGHT_MAX
  }

  /** Pixels of the table per pixel of the bar. */
  get #scale(): number {
    const range = this.height - this.#view
    return range <= 0 ? 1 : Math.max(1, (this.#total - this.#view) / range)
  }

  #bounded(top: number): number {
    return Math.max(0, Math.min(top, this.#total - this.#view))
  }
}
