// What stands for a request that comes with a key of the caller's. A repeat with the same key must be the same
// request: another one would be answered with a result that is not its own, and its rows would be lost.
import { type Bytes, toHex, utf8 } from '../base/bytes.js'
import { sha256, yieldToEventLoop } from '../base/platform.js'
import { isStoreError } from '../base/store-error.js'
import { checkIdempotencyKey, checkRequestDigest } from './arguments.js'
import { scanRowObject } from './row-object.js'
import { TeamStash } from './stash.js'

/** A key of the caller's, with the digest of the request that it came with. */
export type RequestKey = Readonly<{ text: string; digest: Bytes }>

type GivenKey = Readonly<{ idempotencyKey?: unknown; requestDigest?: unknown }>

/**
 * The key of a request; undefined: it has none.
 * @param about - The operation and its arguments other than its rows, as JSON can hold them.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export async function requestKeyOf(
  given: GivenKey,
  about: readonly unknown[],
  rows: unknown,
): Promise<RequestKey | undefined> {
  const text = checkIdempotencyKey(given.idempotencyKey)
  const digest = checkRequestDigest(given.requestDigest)
  if (text === undefined) return undefined
  return { text, digest: digest ?? (await digestOfCall(about, rows)) }
}

/** Other work of the process gets its turn after so many bytes. */
const SLICE_BYTES = 1024 * 1024

/** The digest of a request; of its content slice by slice. FORMAT.md, section 4, says how: it is stored. */
export async function digestRequest(about: readonly unknown[], content: Bytes): Promise<Bytes> {
  const slices: string[] = []
  for (let start = 0; start < content.length; start += SLICE_BYTES) {
    if (start > 0) await yieldToEventLoop()
    slices.push(toHex(await sha256(content.subarray(start, start + SLICE_BYTES))))
  }
  return sha256(utf8(JSON.stringify([about, slices])))
}

async function digestOfCall(about: readonly unknown[], rows: unknown): Promise<Bytes> {
  if (rows instanceof TeamStash) return digestRequest([...about, 'stash', rows.id], utf8(''))
  if (Array.isArray(rows)) {
    return digestRequest([...about, 'array', rows.length], utf8(textOfFirstRows(rows)))
  }
  for (const form of ['json', 'csv', 'tsv'] as const) {
    const text = textMember(rows, form)
    if (text !== undefined) return digestRequest([...about, form], text)
  }
  return digestRequest([...about, 'rows'], utf8(''))
}

function textMember(rows: unknown, form: 'json' | 'csv' | 'tsv'): Bytes | undefined {
  if (typeof rows !== 'object' || rows === null || !Object.hasOwn(rows, form)) return undefined
  const text: unknown = Reflect.get(rows, form)
  if (text instanceof Uint8Array) return text
  return typeof text === 'string' ? utf8(text) : undefined
}

/** Of an array so many rows are compared, and no more once they have so many characters. */
const ARRAY_ROWS_MAX = 1_000
const ARRAY_CHARS_MAX = 1024 * 1024

function textOfFirstRows(rows: readonly unknown[]): string {
  let text = ''
  for (let i = 0; i < rows.length && i < ARRAY_ROWS_MAX && text.length < ARRAY_CHARS_MAX; i++) {
    text += textOfRow(rows[i], i)
  }
  return text
}

/** A row that cannot be stored is refused later, in its turn. */
function textOfRow(row: unknown, index: number): string {
  try {
    const { ids, tokens, rowId } = scanRowObject(row, index)
    return JSON.stringify([ids, tokens, rowId])
  } catch (failure) {
    if (isStoreError(failure)) return '[]'
    throw failure
  }
}
