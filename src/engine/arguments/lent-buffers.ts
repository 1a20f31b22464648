// Buffers that a store lends to its servers, so that `bufferBytesMax` bounds the buffers of any number of servers.
import { BufferPool } from '../../base/buffer-pool.js'
import type { Store } from '../types/store-types.js'

/** The name of the property of a store that has the pool. It is the same in all copies of this package. */
export const LENT_BUFFERS: unique symbol = Symbol.for('rowstash.lentBuffers')

export type LendsBuffers = Readonly<{ [LENT_BUFFERS]: BufferPool }>

/** The pool of a store. For a store of another package, a pool is returned that keeps no buffers. */
export function lentBuffersOf(store: Store): BufferPool {
  const { [LENT_BUFFERS]: buffers } = store as Store & Partial<LendsBuffers>
  return buffers ?? new BufferPool(0)
}
