import type { PairCounts } from '../../support/pairs.js'

type Line = Readonly<{
  suite: string
  skipped?: string
  runs?: number
  seed?: number
  violations?: number
  pairs?: PairCounts
}>

type Suite = Readonly<{
  runs: number
  violations: number
  seeds: readonly number[]
  skipped?: string
  pairs?: PairCounts
}>

export type TortureRecord = Readonly<{
  commits: readonly Readonly<{
    commit: string
    day: string
    suites: Readonly<Record<string, Suite>>
  }>[]
}>

export function readRecord(): Promise<TortureRecord>

export function rarePairs(suites: Readonly<Record<string, Suite>>): readonly string[]

export function addLine(suites: Record<string, Suite>, line: Line): void

export function wrongRecord(
  record: TortureRecord,
  tree: Readonly<{ now: number; isSame: (commit: string) => boolean }>,
): readonly string[]
