// The job and the output of a process in a history.
import type { StoreOptions } from '../../../src/index.js'
import type { FleetPlace } from '../fleet/fleet-job.js'
import type { FeedChange, FeedRow, Operation, Write } from './history.js'

export const TEAM = 'team'
export const SERVER_KEY = 'a-key-of-the-history'

/** Where a process works: a directory, a shared store, or a server. */
export type HistoryPlace =
  | Readonly<{ directory: string }>
  | (Omit<FleetPlace, 'postgres'> & Readonly<{ urls: readonly string[] }>)
  | Readonly<{ url: string }>

/** The tables of a round: accounts, in which each row is a list; a list of rows; and claims of keys. */
export type RoundTables = Readonly<{
  /** By name: the ID of the table, and the IDs of its rows in order. */
  accounts: Readonly<Record<string, Readonly<{ id: string; rows: readonly string[] }>>>
  log: string
  claims: string
  /** By name: the first version of each table, and its rows. */
  first: Readonly<Record<string, Readonly<{ version: number; rows: readonly FeedRow[] }>>>
}>

/** The choices of a round. */
export type RoundSwarm = Readonly<{
  operations: readonly OperationName[]
  faults: readonly FaultName[]
  options: StoreOptions
  /** Accounts with a key. */
  keyed: readonly string[]
}>

export type HistoryJob = Readonly<{
  place: HistoryPlace
  /** The prefix of its operations' names. */
  name: string
  seed: number
  swarm: RoundSwarm
  /** null: it creates them. */
  tables: RoundTables | null
  callers: number
  /** The port on which it serves the store meanwhile. */
  port: number | null
  /** By table: the version up to which it has printed the feed; null: it does not follow. */
  since: Readonly<Record<string, number>> | null
  /** `work`: until it is told to end; `end`: reads everything, and deletes the tables. */
  does: 'work' | 'end'
  /** The directory into which it finally restores its backup; null: none. */
  restoreTo: string | null
}>

/** The operations of the library, in the process. */
export const LIBRARY_OPERATIONS = [
  ...(['transact', 'transact twice', 'transact and fail', 'transact overwrite'] as const),
  ...(['transact add', 'transact claim', 'audit', 'update', 'update many', 'overwrite'] as const),
  ...(['merge', 'add', 'add stash', 'claim', 'release', 'alter', 'job', 'read row'] as const),
  ...(['read page', 'read log', 'read schema', 'read by key', 'read past'] as const),
] as const

/** Those that a client of a server does. */
export const CLIENT_OPERATIONS = [
  ...(['update', 'update many', 'add', 'claim', 'release', 'read row'] as const),
  ...(['read page', 'read log', 'read by key'] as const),
] as const

export type OperationName = (typeof LIBRARY_OPERATIONS)[number]

export const BACKGROUND = ['compaction', 'recompression', 'garbageCollection'] as const

export const FAULTS = [
  ...(['kill', 'pause', 'clock jump', 'slow read', 'restore', 'cut', 'failover'] as const),
] as const

export type FaultName = (typeof FAULTS)[number]

export type HistoryLine =
  | Readonly<{ say: 'open' }>
  | Readonly<{ say: 'tables'; tables: RoundTables }>
  | Readonly<{
      say: 'call'
      id: string
      what: OperationName | 'end'
      at: number
      writes: readonly Write[]
    }>
  | (Readonly<{ say: 'end'; at: number }> & Omit<Operation, 'process' | 'what' | 'from' | 'to'>)
  | (Readonly<{ say: 'change' }> & Omit<FeedChange, 'reader'>)
  | Readonly<{ say: 'span'; name: string; from: number; to: number }>
  | Readonly<{ say: 'last'; versions: Readonly<Record<string, number>> }>
  | Readonly<{ say: 'wrong'; text: string }>
  | Readonly<{ say: 'note'; text: string }>

/** Microseconds of the monotonic clock, which all processes of a machine share. */
export function nowMicros(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}
