/**
 * For tests: a server that fails on command, suites that prove an implementation of a port, a store or a server of the
 * contract with any test runner, and generators.
 * @module rowstash/testing
 */

export type { ConformanceCase } from './case.js'
export type { ContractExchange, ContractServer } from './contract-suite.js'
export { contractSuite } from './contract-suite.js'
export { contractSources } from './fake-sources.js'
export type { Damage, FaultDiskOptions } from './faults/fault-disk.js'
export { FaultDisk } from './faults/fault-disk.js'
export type { LossModel } from './faults/fault-log.js'
export type { Fault, FaultPlan, NthStepOptions, PortStep } from './faults/fault-plan.js'
export { nthStep } from './faults/fault-plan.js'
export { anyColumnType, anyRowOf, anySchema, anyValueOfKind, ODD_COLUMN_IDS } from './generators.js'
export { kvSuite } from './kv/kv-suite.js'
export { objectsSuite } from './objects/objects-suite.js'
export type { FaultRule, RequestFault } from './server/request-faults.js'
export type { RecordedRequest, TestServer, TestServerOptions } from './server/test-server.js'
export { createTestServer } from './server/test-server.js'
export { storeSuite } from './store-suite.js'
export type { TestClock } from './test-clock.js'
