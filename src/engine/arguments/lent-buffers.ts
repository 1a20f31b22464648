// Buffers that a store lends to its servers, so that `bufferBytesMax` bounds them however many servers there are.
import { BufferPool } from '../../base/buffer-pool.js'
import type { Store } from '../types/store-types.js'

/** The name of the pool in a store; the same in all copies of this package. */
export const LENT_BUFFERS: unique symbol = Symbol.for('rowstash.lentBuffers')

export type LendsBuffers = Readonly<{ [LENT_BUFFERS]: BufferPool }>

/** The pool of a store. A store of another package has none; the pool returned for it keeps no buffers. */
export function lentBuffersOf(store: Store): BufferPool {
  const { [LENT_BUFFERS]: buffers } = store as Store & Partial<LendsBuffers>
  return buffers ?? new BufferPool(0)
}
