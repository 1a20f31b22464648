// What the adapters and the programs of this package use of the core, and its users do not: no entry of the package has it.

export { CONTRACT_LIMITS } from './contract/contract-limits.js'
export { checkStoreOptions, STORE_LIMITS } from './engine/api/resolve-options.js'
export { RESTORED_VERSION_STEP } from './kv/version-base.js'
