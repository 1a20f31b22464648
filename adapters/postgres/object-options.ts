import { type IntegerRange, integerOptions } from '../../src/base/options.js'
import {
  type PostgresKvOptions,
  type ResolvedPostgresOptions,
  resolvePostgresOptions,
} from './connection/postgres-options.js'

type SharedOption =
  | 'urls'
  | 'schema'
  | 'pgBouncer'
  | 'connectTimeoutMs'
  | 'statementTimeoutMs'
  | 'retryMsMax'
  | 'onWarning'

/** Options of `openPostgresObjects`. All except `urls` have a default; unknown names are rejected. */
export interface PostgresObjectsOptions extends Pick<PostgresKvOptions, SharedOption> {
  /**
   * The table of objects, which must differ from the table of records. The names of the other tables begin with it.
   * Rules as for `schema`. Default: `objects`.
   */
  readonly table?: string
  /** The maximum number of connections. Further calls wait. Default: 8. Range: 1 to 1,000. */
  readonly connectionsMax?: number
}

/** The default table of a store's objects. */
export const OBJECTS_TABLE = 'objects'

const RANGES = {
  connectionsMax: { default: 8, min: 1, max: 1_000 },
} as const satisfies Record<'connectionsMax', IntegerRange>

const OTHER_OPTIONS: readonly string[] = [
  'urls',
  'schema',
  'table',
  'pgBouncer',
  'connectTimeoutMs',
  'statementTimeoutMs',
  'retryMsMax',
  'onWarning',
] satisfies Exclude<keyof PostgresObjectsOptions, 'connectionsMax'>[]

export type ResolvedObjectsOptions = ResolvedPostgresOptions & Readonly<{ connectionsMax: number }>

/** @throws {StoreError} OPTION_NOT_ALLOWED */
export function resolveObjectsOptions(given: PostgresObjectsOptions): ResolvedObjectsOptions {
  const { connectionsMax } = integerOptions('openPostgresObjects', given, RANGES, OTHER_OPTIONS)
  const { connectionsMax: _, table = OBJECTS_TABLE, ...shared } = given
  return Object.freeze({ ...resolvePostgresOptions({ ...shared, table }), connectionsMax })
}
