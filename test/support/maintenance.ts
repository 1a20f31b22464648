// Options of background work that come from several places.
import type { MaintenanceOptions, StoreOptions } from '../../src/engine/types/store-options.js'

/** Nothing runs in the background; what `store.maintain()` does stays as it is. */
export const QUIET = Object.freeze({
  garbageCollectionIntervalMs: 0,
  fileCollectionIntervalMs: 0,
  compactionIntervalMs: 0,
  recompressionIntervalMs: 0,
  jobIntervalMs: 0,
})

/** The members of all parts; those of later ones win. */
export function joinedMaintenance(
  ...parts: readonly StoreOptions['maintenance'][]
): MaintenanceOptions {
  return Object.assign({}, ...parts.map((part) => (part === false ? QUIET : part)))
}
