import { StoreError } from '../../base/store-error.js'

/** @throws {StoreError} PRECONDITION_FAILED if the current version is greater than the given one */
export function checkIfMatch(
  what: 'table' | 'row',
  ifMatch: number | bigint | undefined,
  version: number,
): void {
  if (ifMatch === undefined || BigInt(version) <= BigInt(ifMatch)) return
  throw new StoreError(
    'PRECONDITION_FAILED',
    `The ${what} changed after version ${ifMatch}: it is at version ${version}`,
  )
}
