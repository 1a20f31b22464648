// Hints of work that a commit leaves for the duties of a shared store. They travel with the commit that makes the work,
// and no read precedes them. A store that is not shared has none: its duties scan.
//
// Invariant: nothing depends on a hint. It says where a duty looks; the duty does only what the records there allow, and
// a daily scan of all records (maintenance/team-visits) finds what no hint names.
import { type Bytes, NO_BYTES, utf8 } from '../../base/bytes.js'
import type { Duty, TableKey } from '../../format/keys.js'
import type { TableHead } from '../../format/records.js'
import { aboutExtent, encodeHint, type Hint, hintKey } from '../../format/work-records.js'
import type { KvStore } from '../../kv/kv.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'

type Puts = readonly (readonly [key: Bytes, value: Bytes])[]

type HintContext = Readonly<{
  kv: Pick<KvStore, 'shared'>
  options: Pick<
    ResolvedOptions,
    'compactionRecordsMin' | 'clock' | 'idempotencyTtlMs' | 'recompressionAgeMs' | 'recompression'
  >
}>

const NO_PUTS: Puts = Object.freeze([])

/**
 * Hints that an extent gets, about, while `compactionRecordsMin` records are laid over it: with each record, the
 * commits of a busy table would all write one more. That an extent gets none is improbable (0.02 %), and the next
 * records may bring it.
 */
const HINTS_PER_COMPACTION = 8

/** Kept results are looked at in steps of this many milliseconds, so that one hint is for many. */
const RESULTS_STEP_MS = 3_600_000

/** Segments to compress are looked for in steps of this many milliseconds, so that one hint is for many adds. */
const RECOMPRESSION_STEP_MS = 60_000

/** One of so many kept results brings a hint; where there are so few that none does, the daily scan deletes them. */
const RESULTS_PER_HINT = 8

/** @param version - That the commit makes of the table that the hint is about. Default: it is about none. */
export function putHint(duty: Duty, hint: Hint, version = 0): readonly [Bytes, Bytes] {
  return [hintKey(duty, hint), encodeHint(version)]
}

/** For a commit that lays a record over a row of an extent. @param head - The head before the commit. */
export function hintOfRecord(
  { kv, options }: HintContext,
  { version, commitNonce, generation }: TableHead,
  table: TableKey,
  extent: number,
): Puts {
  if (!kv.shared || extent === generation.open?.extent) return NO_PUTS
  const each = Math.ceil(options.compactionRecordsMin / HINTS_PER_COMPACTION)
  const [high = 0, low = 0] = commitNonce // Random in every commit.
  if ((256 * high + low) % each !== 0) return NO_PUTS
  return [hintOfExtent(table, extent, version + 1)]
}

/** For a commit that closes the open extent. */
export function hintOfClosed(
  { kv }: HintContext,
  { version, generation: { open: before } }: TableHead,
  { open: after }: TableHead['generation'],
  table: TableKey,
): Puts {
  if (!kv.shared || before === null || before.extent === after?.extent) return NO_PUTS
  return [hintOfExtent(table, before.extent, version + 1)]
}

function hintOfExtent(table: TableKey, extent: number, version: number): readonly [Bytes, Bytes] {
  const about = aboutExtent({ table, extent })
  return putHint('compaction', { due: 0, kind: 'extent', about }, version)
}

/** For a commit that overwrites the rows or changes the schema of a table. @param version - That it makes. */
export function hintOfTable({ kv }: HintContext, table: TableKey, version: number): Puts {
  if (!kv.shared) return NO_PUTS
  return [putHint('garbageCollection', { due: 0, kind: 'table', about: table }, version)]
}

/** For a commit that puts entries with new segments. @param version - Of the table, that the commit makes or leaves. */
export function hintOfSegments(
  { kv, options }: HintContext,
  table: TableKey,
  version: number,
): Puts {
  if (!kv.shared || options.recompression === 'none') return NO_PUTS
  const { clock, recompressionAgeMs } = options
  const due =
    RECOMPRESSION_STEP_MS * Math.ceil((clock.now() + recompressionAgeMs) / RECOMPRESSION_STEP_MS)
  const hint = { due: recompressionAgeMs === 0 ? 0 : due, kind: 'table', about: table } as const
  return [putHint('recompression', hint, version)]
}

/** For a commit that begins something with a lifetime. @param due - When that is over. */
export function hintOfLifetime(
  { kv }: HintContext,
  kind: 'stash' | 'upload' | 'job',
  about: Bytes | string,
  due: number,
): Puts {
  if (!kv.shared) return NO_PUTS
  const name = typeof about === 'string' ? utf8(about) : about
  return [putHint('garbageCollection', { due, kind, about: name })]
}

/** For a commit that keeps a result. @param digest - That of the request. */
export function hintOfResult({ kv, options }: HintContext, digest: Bytes): Puts {
  if (!kv.shared || (digest[0] ?? 0) % RESULTS_PER_HINT !== 0) return NO_PUTS
  const end = options.clock.now() + options.idempotencyTtlMs
  const due = RESULTS_STEP_MS * Math.ceil(end / RESULTS_STEP_MS)
  return [putHint('garbageCollection', { due, kind: 'results', about: NO_BYTES })]
}
