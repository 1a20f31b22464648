// Buffers that a store lends to those who serve it, so that they are under its `bufferBytesMax`, however many serve it.
import { BufferPool } from '../../base/buffer-pool.js'
import type { Store } from './store-types.js'

/** The name of the pool in a store; the same in all copies of this package. */
export const LENT_BUFFERS: unique symbol = Symbol.for('rowstash.lentBuffers')

export type LendsBuffers = Readonly<{ [LENT_BUFFERS]: BufferPool }>

/** The pool of a store. One that is not of this package lends none: then no buffer is kept. */
export function lentBuffersOf(store: Store): BufferPool {
  const { [LENT_BUFFERS]: buffers } = store as Store & Partial<LendsBuffers>
  return buffers ?? new BufferPool(0)
}
