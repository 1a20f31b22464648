// What an intake tells of a file, in the words of the command.
import { type Advice, renderDelimiter } from '../../base/intake.js'
import { renderCount } from '../command/progress.js'
import { renderName, renderText, VALUE_CHARS_MAX } from '../command/shown-values.js'

/** The line for people about what was found. */
export function adviceMessage(advice: Advice): string {
  const { count = 0, line, example = '', column = '' } = advice
  const first = line === undefined ? '' : `, the first in line ${line}`
  const value = renderText(JSON.stringify(example), VALUE_CHARS_MAX)
  const name = `column '${renderName(column)}'`
  const many = (one: string, more: string) => `${renderCount(count)} ${count === 1 ? one : more}`
  switch (advice.code) {
    case 'encoding':
      return `read as ${example}, for it is not valid UTF-8; --encoding NAME if it is another`
    case 'at':
      return `the rows are those of the array at ${renderText(example, VALUE_CHARS_MAX)}`
    case 'delimiter':
      return `using the delimiter ${renderDelimiter(example)}`
    case 'oneColumn':
      return 'no character divides the lines into fields alike, so they are one column; --delimiter D says which does'
    case 'shortLines':
      return `${many('line has', 'lines have')} fewer fields than the header${first}: the other cells are empty`
    case 'skippedLines':
      return `${many('line', 'lines')} in front of the header ${count === 1 ? 'is' : 'are'} left out; --skip-lines 0 reads all`
    case 'headerLooksLikeData':
      return `the header looks like a row, for it has the value ${value}; --header absent reads it as one`
    case 'columnNamed':
      return `a column without a name is called ${name}`
    case 'columnDropped':
      return count > 0
        ? `${name} and the next ${count - 1}, which --rejects has written, are left out`
        : 'a column without a name and without values is left out'
    case 'trimmed':
      return 'blanks around fields are left out, for quotes follow them; --quotes strict keeps them'
    case 'backslashes':
      return 'a backslash stands in front of quotes in fields; --escape double takes it as text'
    case 'nulls':
      return `${many('field is an empty cell', 'fields are empty cells')}${first}`
    case 'blankLines':
      return `${many('line without a value is', 'lines without a value are')} left out${first}; --blank-lines keep makes them rows`
    case 'extraFields':
      return `${many('line has', 'lines have')} more fields than the header${first}: they are left out`
    case 'binary': {
      const others = count > 1 ? ` and ${renderCount(count - 1)} more` : ''
      return `${name}${others} has bytes that are not said to be text, and they were read as UTF-8; --binary text says that they are`
    }
    case 'nested':
      return `${many('object', 'objects')} in rows became columns or text${first}, in ${name}`
    case 'comments':
      return `${many('comment is', 'comments are')} left out${first}`
    case 'pointsUnsure':
      return `${name} has points that may stand between thousands, such as ${value}; --decimal , --thousands . reads them so`
    case 'datesUnread':
      return `${name} has days with two readings, such as ${value}; --dates dd/mm/yyyy or mm/dd/yyyy reads them`
    case 'numbers':
    case 'dates':
    case 'dateTimes':
    case 'booleans':
      return `${many('value', 'values')} of ${name} ${count === 1 ? 'was' : 'were'} converted, such as ${value} in line ${line}`
  }
}
