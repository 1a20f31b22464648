// The advice of the intake, in the words of the command line.
import { type Advice, renderDelimiter } from '../../base/intake.js'
import { renderCount } from '../command/progress.js'
import { renderName, renderText, VALUE_CHARS_MAX } from '../command/shown-values.js'
import { optionOf } from './dialect-options.js'

/** The line for people. */
export function adviceMessage(advice: Advice): string {
  const { count = 0, line, example = '', column = '' } = advice
  const first = line === undefined ? '' : `, the first in line ${line}`
  const value = renderText(JSON.stringify(example), VALUE_CHARS_MAX)
  const name = `column '${renderName(column)}'`
  const many = (one: string, more: string) => `${renderCount(count)} ${count === 1 ? one : more}`
  const remedy = renderRemedy(advice)
  const ifRemedy = (text: string) => (remedy === undefined ? '' : text)
  switch (advice.code) {
    case 'encoding':
      return `not valid UTF-8, so read as ${example}; --encoding NAME sets another encoding`
    case 'at':
      return `the rows are read from the array at ${renderText(example, VALUE_CHARS_MAX)}`
    case 'delimiter':
      return `using the delimiter ${renderDelimiter(example)}`
    case 'oneColumn':
      return 'no delimiter was found, so each line is one cell; --delimiter D sets it'
    case 'shortLines':
      return `${many('line has', 'lines have')} fewer fields than the header${first}: the other cells are empty`
    case 'skippedLines':
      return `${many('line', 'lines')} before the header ${count === 1 ? 'is' : 'are'} left out`
    case 'headerLooksLikeData':
      return `the header looks like a row, because it has the value ${value}; ${remedy} reads it as a row`
    case 'trimmed':
      return 'blanks around fields are removed, because some precede quotes'
    case 'backslashes':
      return 'backslashes before quotes in fields are removed'
    case 'nulls':
      return `${many('field is an empty cell', 'fields are empty cells')}${first}`
    case 'blankLines':
      return `${many('line without a value is', 'lines without a value are')} left out${first}${ifRemedy(`; ${remedy} makes them rows`)}`
    case 'extraFields':
      return `${many('line has', 'lines have')} more fields than the header${first}: they are left out`
    case 'nested':
      return `${many('object', 'objects')} in rows became columns or text${first}, in ${name}`
    case 'comments':
      return `${many('comment is', 'comments are')} left out${first}`
    case 'pointsUnsure':
      return `${name} has points that may separate thousands, such as ${value}${ifRemedy(`; ${remedy} reads them as such`)}`
    case 'datesUnread':
      return `${name} has days that can be read in two ways, such as ${value}${ifRemedy(`; ${remedy} reads them`)}`
    case 'numbers':
    case 'dates':
    case 'dateTimes':
    case 'booleans':
      return `${many('value', 'values')} of ${name} ${count === 1 ? 'was' : 'were'} converted, such as ${value} in line ${line}`
    default:
      return messageOfColumn(advice) ?? messageOfText(advice, remedy)
  }
}

/** The message about a whole column. undefined: the advice concerns single values. */
function messageOfColumn({ code, column = '', count = 0 }: Advice): string | undefined {
  const name = `column '${renderName(column)}'`
  switch (code) {
    case 'columnNamed':
      return `a column without a name is called ${name}`
    case 'columnDropped':
      return count > 0
        ? `${name} and the ${count - 1} columns after it are left out, because --rejects added them`
        : 'a column without a name and without values is left out'
    case 'binary': {
      const others = count > 1 ? ` and ${renderCount(count - 1)} more` : ''
      return `${name}${others} has bytes that are not marked as text, which were read as UTF-8; --binary text confirms that they are text`
    }
    case 'spacedNames': {
      const shown = `"${renderName(column)}"`
      return count === 1
        ? `the name of 1 column begins or ends with a space: ${shown}; remove it from the header`
        : `the names of ${renderCount(count)} columns begin or end with a space, the first ${shown}; remove it from the header`
    }
    case 'rowIDs':
      return '$rowID is left out, because the rows of a new table get new IDs; --mode overwrite keeps IDs that the table has'
    default:
      return undefined
  }
}

const ALIKE = 'write all numbers of the column alike'

/** Why a column of a new table is text, and how to change that. */
function messageOfText(advice: Advice, remedy: string | undefined): string {
  const { code, column = '', count = 0, values = 0, line, others, example = '' } = advice
  const some = `${renderCount(count)} of ${renderCount(values)}`
  const value = renderText(JSON.stringify(example), VALUE_CHARS_MAX)
  const text = `column '${renderName(column)}' is text because`
  const odd = `${text} of ${some} values, the first ${value} in line ${line}; the others are ${others}`
  const numbers = (verb: string) =>
    `${text} ${some} values ${verb}, the first ${value} in line ${line}`
  switch (code) {
    case 'paddedNumber':
      return `${odd}: leave it as text if they are codes, because numbers have no leading zeros or plus sign`
    case 'groupedNumber':
      return `${odd}: remove the thousands separators`
    case 'decimalComma':
      return `${numbers('have a decimal comma')}; ${remedy === undefined ? ALIKE : `${remedy} reads them as numbers`}`
    case 'commasUnsure':
      return remedy === undefined
        ? `${numbers('have a comma')}; ${ALIKE}`
        : `${numbers('have a comma')}; if it is a decimal comma, ${remedy} reads them as numbers; otherwise remove it`
    case 'longInteger':
      return `${numbers('are integers of more than 15 digits')}; leave it as text if they are identifiers; --schema with the kind number stores them exactly`
    case 'spacedNumber':
      return `${numbers('have spaces around them')}; remove the spaces, or use --schema with the kind number, which ignores them`
    case 'looseNumber':
      return `${numbers('have a plus sign, thousands separators or no digit on one side of the point')}; leave it as text if they are codes, otherwise write them as in 0.5, 5 and 1234.5`
    case 'mixedTypes': {
      const shown = renderText(example, VALUE_CHARS_MAX)
      return `${text} its values have several types: ${some} become text, the first ${shown} in line ${line}; give them one type, or use --schema with --on-error drop to leave the others empty`
    }
    default:
      return `${odd}: correct them, or use --schema with --on-error drop to leave them empty`
  }
}

/** The options that override a detection, quoted for a shell. */
function renderRemedy({ remedy, column }: Advice): string | undefined {
  if (remedy === undefined) return undefined
  const { option, value } = remedy
  if (option === 'decimal' && column !== undefined) return decimalOption(column, value)
  const said = `${optionOf(option)} ${value}`
  // Whether the day or the month comes first is not known: both orders are offered.
  return option === 'dates'
    ? `${said} or ${optionOf(option)} ${value.replace(/dd(.)mm/, 'mm$1dd')}`
    : said
}

/** The option for the decimal mark of one column. */
export function decimalOption(column: string, mark: string): string {
  const isShown = renderName(column) === column
  const value = `${isShown ? column : 'COLUMN'}=${mark}`
  return `--decimal ${quotedForShell(value)}`
}

/** A text quoted as one shell argument. */
export function quotedForShell(text: string): string {
  return /^[\w.,=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
