// Versions as callers know them: those of the records, and the base of the store over them. The base grows
// when commits may have been lost, so that lost versions are not given out again (kv/version-base).
import type { StoreContext } from './store-context.js'

type OfStore = Readonly<{ kv: Pick<StoreContext['kv'], 'versionBase'> }>

export function versionBase({ kv }: OfStore): number {
  return kv.versionBase ?? 0
}

/** A result with its version as callers know it. */
export function toPublicVersion<T extends Readonly<{ version: number }>>(
  store: OfStore,
  result: T,
): T {
  const base = versionBase(store)
  return base === 0 ? result : { ...result, version: result.version + base }
}
