import { StoreError } from '../base/store-error.js'

/** Bytes of request bodies that may be held at one time. */
export interface BodyBudget {
  /**
   * Waits for its turn and for room. Call what it gives once, when the bytes are no longer held.
   * @throws {StoreError} STORAGE_UNAVAILABLE when too many wait already.
   */
  take(bytes: number): Promise<() => void>
}

type Waiter = Readonly<{ bytes: number; admit: () => void }>

/** Those who wait hold a connection and no body; beyond this many the answer is "try again". */
const WAITERS_MAX = 1_000

/** First come, first served: a large body is not overtaken for ever by small ones. */
export function createBodyBudget(bytesMax: number): BodyBudget {
  let bytesFree = bytesMax
  const waiters: Waiter[] = []

  function admitNext(): void {
    for (let next = waiters[0]; next !== undefined && next.bytes <= bytesFree; next = waiters[0]) {
      waiters.shift()
      bytesFree -= next.bytes
      next.admit()
    }
  }

  return {
    async take(wanted) {
      const bytes = Math.min(wanted, bytesMax) // Else a body above the whole budget would wait for ever.
      if (waiters.length >= WAITERS_MAX) {
        throw new StoreError('STORAGE_UNAVAILABLE', 'Too many requests wait for memory')
      }
      await new Promise<void>((admit) => {
        waiters.push({ bytes, admit })
        admitNext()
      })
      let held = true
      return () => {
        if (!held) return
        held = false
        bytesFree += bytes
        admitNext()
      }
    },
  }
}
