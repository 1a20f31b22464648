// The digest of a request with an idempotency key. A repeat with the same key must be the same request: otherwise the
// second request would get the result of the first, and its own rows would be lost.
import { type Bytes, bytesOf, concatBytes, toHex, utf8 } from '../../base/bytes.js'
import { sha256, yieldToEventLoop } from '../../base/platform.js'
import { isStoreError } from '../../base/store-error.js'
import { DIALECT_NAMES } from '../../intake/dialect.js'
import { checkIdempotencyKey, checkRequestDigest } from '../arguments/arguments.js'
import type { RequestKey } from '../commit/idempotency.js'
import { scanRowObject } from '../import/row-object.js'
import { TeamStash } from '../import/stash.js'

type GivenKey = Readonly<{ idempotencyKey?: unknown; requestDigest?: unknown }>

/**
 * The key of a request; undefined: the request has no key.
 * @param about - The operation and its arguments without its rows, as JSON values.
 * @param rows - The rows, or a function that makes the rows when they are needed.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export async function makeRequestKey(
  given: GivenKey,
  about: readonly unknown[],
  rows: unknown,
): Promise<RequestKey | undefined> {
  const text = checkIdempotencyKey(given.idempotencyKey)
  const digest = checkRequestDigest(given.requestDigest)
  if (text === undefined) return undefined
  return {
    text,
    digest: digest ?? (await digestOfCall(about, typeof rows === 'function' ? rows() : rows)),
  }
}

/** Bytes of content hashed in one slice; other work of the process runs between slices. */
const SLICE_BYTES = 1024 * 1024

/** The digest of a request, hashed slice by slice. FORMAT.md, section 4, specifies it, because it is stored. */
export async function digestRequest(about: readonly unknown[], content: Bytes): Promise<Bytes> {
  return digestSlices(about, slicesOf(content))
}

async function digestSlices(
  about: readonly unknown[],
  slices: Iterable<Bytes> | AsyncIterable<Bytes>,
): Promise<Bytes> {
  const digests: string[] = []
  for await (const slice of slices) {
    if (digests.length > 0) await yieldToEventLoop()
    digests.push(toHex(await sha256(slice)))
  }
  return sha256(utf8(JSON.stringify([about, digests])))
}

function* slicesOf(content: Bytes): Generator<Bytes> {
  for (let start = 0; start < content.length; start += SLICE_BYTES) {
    yield content.subarray(start, start + SLICE_BYTES)
  }
}

async function digestOfCall(about: readonly unknown[], rows: unknown): Promise<Bytes> {
  if (rows instanceof TeamStash) return digestRequest([...about, 'stash', rows.id], utf8(''))
  if (Array.isArray(rows)) {
    return digestSlices([...about, 'array', rows.length], slicesOfRows(rows))
  }
  for (const form of ['json', 'csv', 'tsv'] as const) {
    const text = textMember(rows, form)
    if (text !== undefined) return digestRequest([...about, ...saidBeside(rows), form], text)
  }
  return digestRequest([...about, 'rows'], utf8(''))
}

/** The dialect options that are given beside the rows. */
function saidBeside(rows: unknown): readonly unknown[] {
  const given = rows as Readonly<Record<string, unknown>>
  const said = [...DIALECT_NAMES, 'dialect', 'at', 'nested'].flatMap((name) =>
    given[name] === undefined ? [] : [[name, given[name]]],
  )
  return said.length === 0 ? [] : [said]
}

function textMember(rows: unknown, form: 'json' | 'csv' | 'tsv'): Bytes | undefined {
  if (typeof rows !== 'object' || rows === null || !Object.hasOwn(rows, form)) return undefined
  const text: unknown = Reflect.get(rows, form)
  return typeof text === 'string' ? utf8(text) : bytesOf(text)
}

/** Characters of row texts between pauses for other work. */
const TURN_CHARS = 64 * 1024

/**
 * The texts of all rows, one after the other, in slices. The digest covers the whole array, as it covers a whole body.
 */
async function* slicesOfRows(rows: readonly unknown[]): AsyncGenerator<Bytes> {
  let bytes = utf8('')
  let text = ''
  for (let i = 0; i < rows.length; i++) {
    text += textOfRow(rows[i], i)
    if (text.length < TURN_CHARS) continue
    bytes = concatBytes([bytes, utf8(text)])
    text = ''
    for (; bytes.length > SLICE_BYTES; bytes = bytes.subarray(SLICE_BYTES)) {
      yield bytes.subarray(0, SLICE_BYTES)
    }
    await yieldToEventLoop()
  }
  yield* slicesOf(concatBytes([bytes, utf8(text)]))
}

/** A row that cannot be stored is refused later, in its turn. */
function textOfRow(row: unknown, index: number): string {
  try {
    const { ids, tokens, rowId } = scanRowObject(row, true, index)
    return JSON.stringify([ids, tokens, rowId])
  } catch (failure) {
    if (isStoreError(failure)) return '[]'
    throw failure
  }
}
