// Hints of work that a commit leaves for the duties of a shared store. They are part of the commit that causes the
// work, and need no read. A store that is not shared has no hints: its duties scan.
//
// Invariant: nothing depends on a hint. A hint tells a duty where to look; the duty does only what the records there
// allow. A daily scan of all records (maintenance/team-visits) finds the work that no hint names.
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
 * Average number of hints for an extent while `compactionRecordsMin` records are laid over it. One hint per record
 * would add a write to every commit. With 8, about 1 extent in 5,000 gets no hint; its next records may bring one.
 */
const HINTS_PER_COMPACTION = 8

/**
 * Due times of hints of stored results are multiples of this number of milliseconds, so that one hint serves many
 * results.
 */
const RESULTS_STEP_MS = 3_600_000

/**
 * Due times of hints of segments to compress are multiples of this number of milliseconds, so that one hint serves
 * many.
 */
const RECOMPRESSION_STEP_MS = 60_000

/**
 * One stored result in 8, on average, brings a hint. If no result of a team brings one, the daily scan deletes the
 * results.
 */
const RESULTS_PER_HINT = 8

/** @param version - The version of the hint's table after the commit. Default: the hint has no table. */
export function putHint(duty: Duty, hint: Hint, version = 0): readonly [Bytes, Bytes] {
  return [hintKey(duty, hint), encodeHint(version)]
}

/** Hints of a commit that lays a record over a row of an extent. @param head - The head before the commit. */
export function hintOfRecord(
  { kv, options }: HintContext,
  { version, commitNonce, generation }: TableHead,
  table: TableKey,
  extent: number,
): Puts {
  if (!kv.shared || extent === generation.open?.extent) return NO_PUTS
  const each = Math.ceil(options.compactionRecordsMin / HINTS_PER_COMPACTION)
  const [high = 0, low = 0] = commitNonce // Random for each commit.
  if ((256 * high + low) % each !== 0) return NO_PUTS
  return [hintOfExtent(table, extent, version + 1)]
}

/** Hints of a commit that closes the open extent. */
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

/**
 * Hints of a commit that overwrites the rows of a table or changes its schema.
 * @param version - The version of the table after the commit.
 */
export function hintOfTable({ kv }: HintContext, table: TableKey, version: number): Puts {
  if (!kv.shared) return NO_PUTS
  return [putHint('garbageCollection', { due: 0, kind: 'table', about: table }, version)]
}

/**
 * Hints of a commit that puts entries with new segments.
 * @param version - The version of the table after the commit.
 */
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

/** Hints of a commit that begins something with a lifetime. @param due - When the lifetime ends. */
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

/** Hints of a commit that stores a result. @param digest - The digest of the request. */
export function hintOfResult({ kv, options }: HintContext, digest: Bytes): Puts {
  if (!kv.shared || (digest[0] ?? 0) % RESULTS_PER_HINT !== 0) return NO_PUTS
  const end = options.clock.now() + options.idempotencyTtlMs
  const due = RESULTS_STEP_MS * Math.ceil(end / RESULTS_STEP_MS)
  return [putHint('garbageCollection', { due, kind: 'results', about: NO_BYTES })]
}
