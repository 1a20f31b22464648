// What a process of a history is told, and what it says.
import type { StoreOptions } from '../../../src/index.js'
import type { FleetPlace } from '../fleet/fleet-job.js'
import type { FeedChange, FeedRow, Operation, Write } from './history.js'

export const TEAM = 'team'
export const SERVER_KEY = 'a-key-of-the-history'

/** Where a process works: a directory, a store that several processes share, or a server. */
export type HistoryPlace =
  | Readonly<{ directory: string }>
  | (Omit<FleetPlace, 'postgres'> & Readonly<{ urls: readonly string[] }>)
  | Readonly<{ url: string }>

/** The tables of a round: accounts, of which each row is a list; a list of rows; and claims of keys. */
export type RoundTables = Readonly<{
  /** By name: the ID of the table, and those of its rows in their order. */
  accounts: Readonly<Record<string, Readonly<{ id: string; rows: readonly string[] }>>>
  log: string
  claims: string
  /** By name: the version and the rows that each table has first. */
  first: Readonly<Record<string, Readonly<{ version: number; rows: readonly FeedRow[] }>>>
}>

/** What a round draws. */
export type RoundSwarm = Readonly<{
  operations: readonly OperationName[]
  faults: readonly FaultName[]
  options: StoreOptions
  /** Accounts with a key. */
  keyed: readonly string[]
}>

export type HistoryJob = Readonly<{
  place: HistoryPlace
  /** Names its operations. */
  name: string
  seed: number
  swarm: RoundSwarm
  /** null: it makes them. */
  tables: RoundTables | null
  callers: number
  /** Where it serves the store meanwhile. */
  port: number | null
  /** The versions up to which it has told of the feeds, by table; null: it does not follow them. */
  since: Readonly<Record<string, number>> | null
  /** `work`: until it is told to end; `end`: reads everything, and deletes the tables. */
  does: 'work' | 'end'
  /** The directory into which it restores its backup at the end; null: it does not. */
  restoreTo: string | null
}>

/** Of a library in the process. */
export const LIBRARY_OPERATIONS = [
  ...(['transact', 'transact twice', 'transact and fail', 'transact overwrite'] as const),
  ...(['transact add', 'transact claim', 'audit', 'update', 'update many', 'overwrite'] as const),
  ...(['merge', 'add', 'add stash', 'claim', 'release', 'alter', 'job', 'read row'] as const),
  ...(['read page', 'read log', 'read schema', 'read by key', 'read past'] as const),
] as const

/** Of those, what a client of a server does. */
export const CLIENT_OPERATIONS = [
  ...(['update', 'update many', 'add', 'claim', 'release', 'read row'] as const),
  ...(['read page', 'read log', 'read by key'] as const),
] as const

export type OperationName = (typeof LIBRARY_OPERATIONS)[number]

export const BACKGROUND = ['compaction', 'recompression', 'garbageCollection'] as const

export const FAULTS = ['kill', 'pause', 'clock jump', 'restore', 'cut', 'failover'] as const

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
