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
 * State of the module, because the limit is the process's: descriptors are numbered and counted for all stores
 * together. Stores with a cache each would together keep more than a quarter of them, and a call of one store that
 * found none free could not close the files of another. Tests make caches of their own and pass them on.
 */
let ofProcess: DescriptorCache | undefined

/** The files that this process keeps open. Its limit is read once: Node has raised it as far as it may before. */
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
 * Runs what needs a descriptor; once more when there was none, and some could be freed.
 * @param kept - What may be closed for it. Default: the files of the process.
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
