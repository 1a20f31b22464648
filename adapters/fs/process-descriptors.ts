import { readFileSync } from 'node:fs'
import {
  DescriptorCache,
  descriptorLimits,
  freedFor,
  growTable,
  TABLE_FIRST,
} from './descriptor-cache.js'
import { systemCode } from './fs-error.js'

/**
 * Module state, because the limit applies to the process. With one cache per store, the caches together would keep more
 * than a quarter of the descriptors, and a call of one store that lacks a descriptor could not close the files of
 * another. Tests pass their own caches.
 */
let ofProcess: DescriptorCache | undefined

/** The open files of this process. The limit is read once: Node has already raised it as far as possible. */
export function processDescriptors(): DescriptorCache {
  const table = { room: TABLE_FIRST, grow: growTable }
  ofProcess ??= new DescriptorCache(
    descriptorLimits(readProcessLimits()),
    process.platform === 'linux' ? table : undefined,
  )
  return ofProcess
}

function readProcessLimits(): string {
  if (process.platform !== 'linux') return ''
  try {
    return readFileSync('/proc/self/limits', 'latin1')
  } catch (failure) {
    return `unknown: ${systemCode(failure)}` // A sandbox may hide it.
  }
}

/**
 * Runs a call that needs a descriptor. Runs it again if it lacked a descriptor and some could be freed.
 * @param kept - The cache whose descriptors are freed. Default: the cache of the process.
 */
export async function withDescriptor<T>(
  call: () => Promise<T>,
  kept: DescriptorCache = processDescriptors(),
): Promise<T> {
  try {
    return await call()
  } catch (failure) {
    if (!freedFor(failure, kept)) throw failure
    return await call()
  }
}
