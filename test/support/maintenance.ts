// Combines maintenance options from several sources.
import { NO_MAINTENANCE } from '../../src/engine/arguments/resolve-options.js'
import type { MaintenanceOptions, StoreOptions } from '../../src/engine/types/store-options.js'

export { NO_MAINTENANCE as QUIET }

/** The members of all parts. Later parts override earlier ones. */
export function joinedMaintenance(
  ...parts: readonly StoreOptions['maintenance'][]
): MaintenanceOptions {
  return Object.assign({}, ...parts.map((part) => (part === false ? NO_MAINTENANCE : part)))
}
