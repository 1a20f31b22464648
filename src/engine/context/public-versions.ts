// Public versions: the versions in the records plus the version base of the store. The base grows when commits may
// have been lost, so that a lost version is never used again (kv/version-base).
import type { StoreContext } from './store-context.js'

type OfStore = Readonly<{ kv: Pick<StoreContext['kv'], 'versionBase'> }>

export function versionBase({ kv }: OfStore): number {
  return kv.versionBase ?? 0
}

/** A result with its public version. */
export function toPublicVersion<T extends Readonly<{ version: number }>>(
  store: OfStore,
  result: T,
): T {
  const base = versionBase(store)
  return base === 0 ? result : { ...result, version: result.version + base }
}
