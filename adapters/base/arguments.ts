// Checks of the arguments of functions of `rowstash/node`, by the rules of the core.
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isUrl, typeName } from '../../src/base/options.js'

export { didYouMean, nearestWord } from '../../src/base/nearest-word.js'
export { pickById } from '../../src/base/pick-by-id.js'
export { either, escapeControls, withNameGiven } from '../../src/base/shown-text.js'

import { invalidArgument } from '../../src/base/store-error.js'

export {
  basePathOption,
  booleanOption,
  checkFunctionOption,
  checkOptionNames,
  checkSignalOption as checkSignal,
  type IntegerRange,
  integerOption,
  integerOptions,
  optionError,
  pathBelow,
  shown,
  typeName,
} from '../../src/base/options.js'
export { invalidArgument }

/**
 * The absolute path of a text or a `file:` URL.
 * @param what - What the path leads to, for the message.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export function resolvePath(what: string, given: unknown): string {
  if (isUrl(given)) return pathOfUrl(what, given)
  if (typeof given !== 'string') {
    throw invalidArgument(`${what} must be given as a path or a file: URL, not ${typeName(given)}`)
  }
  if (given === '') throw invalidArgument(`${what} must be given as a path, not as an empty text`)
  if (given.includes('\0'))
    throw invalidArgument(`${what} must be given as a path without a NUL character`)
  if (/^file:/i.test(given)) {
    throw invalidArgument(
      `${what} must be given as a path, or as a URL object: new URL('${given}')`,
    )
  }
  return resolve(given)
}

function pathOfUrl(what: string, url: URL): string {
  try {
    return fileURLToPath(url)
  } catch {
    throw invalidArgument(
      `${what} must be given as a path or a file: URL of this machine, not ${url.href}`,
    )
  }
}
