// The pace of background work that reads many bytes: it waits in between, so that readers and writers have the disk and
// the processor, and ends early when the store closes.
import { monotonicMs } from '../../base/clock.js'
import { waitAtMost } from '../../base/platform.js'
import type { StoreContext } from '../context/store-context.js'

export class Pace {
  readonly #lifecycle: StoreContext['lifecycle']
  readonly #bytesPerMs: number
  /** When the next bytes may be read. */
  #next = 0
  #isHurried = false
  #wake: () => void = () => undefined
  readonly #hurried: Promise<void>

  constructor({ lifecycle, options }: Pick<StoreContext, 'lifecycle' | 'options'>) {
    this.#lifecycle = lifecycle
    this.#bytesPerMs = options.settleBytesPerSecond / 1_000
    this.#hurried = new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** From here on nothing waits, because a caller does. */
  hurry(): void {
    this.#isHurried = true
    this.#wake()
  }

  /** Whether the work must end, because the store closes. */
  get isOver(): boolean {
    return this.#lifecycle.isClosing
  }

  /** Waits until as many bytes may be read. */
  async turn(bytes: number): Promise<void> {
    const began = Math.max(monotonicMs(), this.#next)
    this.#next = began + bytes / this.#bytesPerMs
    const ms = began - monotonicMs()
    if (ms <= 0 || this.#isHurried || this.isOver) return
    await this.#lifecycle.untilClosed((closing) => {
      const closed = new Promise<void>((resolve) => {
        closing.addEventListener('abort', () => resolve(), { once: true })
      })
      return waitAtMost(Promise.race([this.#hurried, closed]), ms, 'unref')
    })
  }
}
