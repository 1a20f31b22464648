// Wakes who waits for the next change of a table in this process.
import { toHex } from '../../base/bytes.js'
import type { TableKey } from '../../format/keys.js'

type Waiting = Readonly<{ woken: Promise<void>; wake: () => void }>

export class TableWakes {
  /** One for each table that somebody waits for. */
  readonly #waiting = new Map<string, Waiting>()

  /** Resolves when a change that is committed after this call is durable. */
  next(table: TableKey): Promise<void> {
    const name = toHex(table)
    const known = this.#waiting.get(name)
    if (known !== undefined) return known.woken
    let wake = (): void => undefined
    const woken = new Promise<void>((resolve) => {
      wake = resolve
    })
    this.#waiting.set(name, { woken, wake })
    return woken
  }

  /** A change of the table is durable. */
  changed(table: TableKey): void {
    if (this.#waiting.size === 0) return
    const name = toHex(table)
    this.#waiting.get(name)?.wake()
    this.#waiting.delete(name)
  }
}
