// The plan of a commit: its keys, each once and in order, with sealed values.
import { type Bytes, compareBytes, concatBytes, sameValue } from '../../src/base/bytes.js'
import { invariant } from '../../src/base/invariant.js'
import { byteText } from '../../src/base/platform.js'
import type { KvCheck, KvCommit, KvCommitResult } from '../../src/kv/kv.js'
import { sealValue } from '../../src/kv/record-envelope.js'

/** Keys with values, sorted by key. */
export type Pairs = Readonly<{ keys: readonly Bytes[]; values: readonly Bytes[] }>

export type CommitPlan = Readonly<{
  /** Checked keys, distinct and in order. */
  checked: readonly Bytes[]
  /** Whether two checks of one key contradict each other, so that the commit is refused in any case. */
  isImpossible: boolean
  /** Keys checked to be equal, and written. */
  locked: Pairs
  /** Keys checked to be equal, and only read. */
  shared: Pairs
  /** Keys checked to be absent, and put. */
  inserted: Pairs
  /** Keys checked to be absent, and not put. */
  held: readonly Bytes[]
  /** Keys put, except those in `inserted`. */
  puts: Pairs
  /** Keys to delete, except those checked to be absent. */
  deletes: readonly Bytes[]
  /** Keys deleted without a check. */
  blind: readonly Bytes[]
  /** Number of records put or deleted, and the length of their keys and values. */
  records: number
  bytes: number
  /** For each key as text, whether the commit writes it. */
  touched: ReadonlyMap<string, boolean>
}>

type Entry = { key: Bytes; equals?: Bytes | null; put?: Bytes; isDeleted?: boolean }

/** @param prefix - The prefix of the partition that checksums cover. */
export function planCommit(prefix: Bytes, commit: KvCommit): CommitPlan {
  const entries = new Map<string, Entry>()
  const entryOf = (key: Bytes): Entry => {
    const text = byteText(key)
    const known = entries.get(text)
    if (known !== undefined) return known
    const entry = { key }
    entries.set(text, entry)
    return entry
  }
  let isImpossible = false
  for (const { key, equals } of commit.checks ?? []) {
    const entry = entryOf(key)
    isImpossible ||= entry.equals !== undefined && !sameValue(entry.equals, equals)
    entry.equals = equals
  }
  for (const [key, value] of commit.puts ?? []) {
    const entry = entryOf(key)
    invariant(!isWrittenEntry(entry), 'a key is put or deleted at most once in a commit')
    entry.put = value
  }
  for (const key of commit.deletes ?? []) {
    const entry = entryOf(key)
    invariant(!isWrittenEntry(entry), 'a key is put or deleted at most once in a commit')
    entry.isDeleted = true
  }
  return planEntries(prefix, entries, isImpossible)
}

function planEntries(
  prefix: Bytes,
  entries: Map<string, Entry>,
  isImpossible: boolean,
): CommitPlan {
  const sorted = [...entries.values()].sort((left, right) => compareBytes(left.key, right.key))
  const pairs = (of: readonly Entry[], valueFrom: (entry: Entry) => Bytes | null | undefined) => ({
    keys: of.map(({ key }) => key),
    values: of.map((entry) =>
      sealValue(concatBytes([prefix, entry.key]), requiredBytes(valueFrom(entry))),
    ),
  })
  const equal = sorted.filter(({ equals }) => equals !== undefined && equals !== null)
  const absent = sorted.filter(({ equals }) => equals === null)
  const written = sorted.filter(isWrittenEntry)
  const deleted = written.filter(({ isDeleted, equals }) => isDeleted && equals !== null)
  return {
    checked: [...equal, ...absent].map(({ key }) => key).sort(compareBytes),
    isImpossible,
    locked: pairs(equal.filter(isWrittenEntry), ({ equals }) => equals),
    shared: pairs(
      equal.filter((entry) => !isWrittenEntry(entry)),
      ({ equals }) => equals,
    ),
    inserted: pairs(
      absent.filter(({ put }) => put !== undefined),
      ({ put }) => put,
    ),
    held: absent.filter(({ put }) => put === undefined).map(({ key }) => key),
    puts: pairs(
      written.filter(({ put, equals }) => put !== undefined && equals !== null),
      ({ put }) => put,
    ),
    deletes: deleted.map(({ key }) => key),
    blind: deleted.filter(({ equals }) => equals === undefined).map(({ key }) => key),
    records: written.length,
    bytes: written.reduce((sum, { key, put }) => sum + key.length + (put?.length ?? 0), 0),
    touched: new Map([...entries].map(([text, entry]) => [text, isWrittenEntry(entry)])),
  }
}

function isWrittenEntry({ put, isDeleted }: Entry): boolean {
  return put !== undefined || isDeleted === true
}

function requiredBytes(value: Bytes | null | undefined): Bytes {
  invariant(value !== undefined && value !== null, 'a pair has a value')
  return value
}

/**
 * Judges checks by the current values.
 * @param present - The values of existing keys, by key as text.
 */
export function judgeChecks(
  checks: readonly KvCheck[],
  present: ReadonlyMap<string, Bytes>,
): KvCommitResult {
  const failed: { key: Bytes; value: Bytes | null }[] = []
  for (const { key, equals } of checks) {
    const value = present.get(byteText(key)) ?? null
    if (!sameValue(value, equals)) failed.push({ key, value })
  }
  return failed.length === 0 ? { ok: true } : { ok: false, failed }
}
