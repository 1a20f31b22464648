// Checks arguments of file operations.
import { isAsyncIterable, isRecord, typeName } from '../../base/options.js'
import { invalidArgument } from '../../base/store-error.js'
import { isWellFormed } from '../../base/well-formed.js'
import { checkText } from '../arguments/arguments.js'
import { checkFileName } from './file-name.js'
import { parseMediaType } from './media-type.js'

export type CheckedDetails = Readonly<{
  fileName: string
  contentType: string
  contentLength: number | null
}>

type GivenDetails = Readonly<{ fileName: unknown; contentType: unknown; contentLength?: unknown }>

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkDetails(given: GivenDetails): CheckedDetails {
  return {
    fileName: checkFileName(given.fileName),
    contentType: checkContentType(given.contentType),
    contentLength: checkContentLength(given.contentLength),
  }
}

/** @returns the canonical spelling. @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkContentType(given: unknown): string {
  const mediaType = typeof given === 'string' ? parseMediaType(given) : undefined
  if (mediaType === undefined)
    throw invalidArgument('contentType must be a media type, like image/png')
  return mediaType.canonical
}

function checkContentLength(given: unknown): number | null {
  if (given === undefined) return null
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 0) return given
  throw invalidArgument('contentLength must be a number of bytes: a non-negative integer')
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkUploadRequest(given: unknown): void {
  if (!isRecord(given)) throw invalidArgument(`receive takes an object, not ${typeName(given)}`)
  const { uploadId, query, contentType, contentLength, body } = given
  checkText('uploadId', uploadId)
  checkText('query', query)
  if (contentType !== undefined) checkText('contentType', contentType)
  checkContentLength(contentLength)
  checkPieces('body', body)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR if the value is not an iterable of bytes. */
export function checkPieces(what: string, given: unknown): void {
  if (typeof given === 'object' && given !== null && isAsyncIterable(given)) return
  throw invalidArgument(
    `${what} must be an async iterable of bytes, such as a stream, not ${typeName(given)}`,
  )
}

/** Maximum number of UTF-16 units of the ID of an app or an owner. */
export const NAME_CHARS_MAX = 256

/** Whether a value is valid as the ID of an app or an owner. */
export function isName(given: unknown): given is string {
  const isShort = typeof given === 'string' && given.length > 0 && given.length <= NAME_CHARS_MAX
  return isShort && isWellFormed(given)
}

/**
 * Checks the ID of an app or an owner. The result is empty if no ID is given.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export function checkName(what: 'appId' | 'owner', given: unknown): string {
  if (given === undefined) return ''
  if (isName(given)) return given
  throw invalidArgument(`${what} must be a string of 1 to ${NAME_CHARS_MAX} characters`)
}
