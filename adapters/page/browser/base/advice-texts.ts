// The advice on a file that was read, in the words of the page.
import type { Advice, AdviceCode } from '../../../../src/intake/advice.js'
import { counted } from './counted.js'

/** The texts of advice. Counts cover the rows read so far. */
const ADVICE: Readonly<Record<AdviceCode, (about: Required<Advice>) => string>> = {
  encoding: ({ example }) => `The encoding ${example} is a guess: check letters such as é and ß.`,
  at: ({ example }) => `The rows are those of the array at “${example}”.`,
  delimiter: () => '',
  oneColumn: () =>
    'No delimiter was found, so each line is one cell. If there is one, choose it in “Between fields”.',
  shortLines: ({ count }) =>
    `${lines(count)} with fewer fields than the header: their other cells are empty.`,
  skippedLines: ({ count }) => `${lines(count)} in front of the header left out.`,
  headerLooksLikeData: ({ example }) =>
    `The header looks like a row, because it has the value “${example}”. If it is a row, change “Header”.`,
  columnNamed: ({ column }) => `A column without a name is called “${column}”.`,
  columnDropped: ({ count }) =>
    count > 0
      ? 'The columns that “--rejects” added are left out.'
      : 'A column without a name and without values is left out.',
  trimmed: () => 'Blanks around fields are left out.',
  backslashes: () => 'Backslashes before quotes in fields are left out.',
  nulls: ({ count }) =>
    `${counted(count, String(count), 'field is an empty cell', 'fields are empty cells')}.`,
  blankLines: ({ count }) => `${lines(count)} without a value left out.`,
  extraFields: ({ count }) =>
    `${lines(count)} with more fields than the header: these are left out.`,
  nested: () => 'Objects in rows became columns or text.',
  binary: () => '',
  comments: ({ count }) => `${lines(count)} that are comments left out.`,
  datesUnread: ({ column, example }) =>
    `Days of “${column}” can be read in two ways, such as “${example}”. They stay text until you choose one in “Days”.`,
  pointsUnsure: ({ column, example }) =>
    `Points of “${column}”, such as in “${example}”, may separate thousands. If they do, choose “1.234,5” in “Numbers”.`,
  numbers: converted,
  dates: converted,
  dateTimes: converted,
  booleans: converted,
  textColumn: (about) => `${madeText(about)} Correct them to get ${about.others}.`,
  paddedNumber: (about) => `${madeText(about)} Leave it as text if they are codes.`,
  groupedNumber: (about) => `${madeText(about)} Remove the thousands separators.`,
  decimalComma: (about) => numbersAsText(about, 'a decimal comma') + choiceOf(about),
  commasUnsure: (about) => numbersAsText(about, 'a comma') + choiceOf(about),
  longInteger: (about) =>
    `${numbersAsText(about, 'more than 15 digits')} Leave it as text if they are codes.`,
  spacedNumber: (about) => `${numbersAsText(about, 'spaces around them')} Remove them.`,
  looseNumber: (about) =>
    `${numbersAsText(about, 'a plus sign, thousands separators or no digit beside the point')} Leave it as text if they are codes.`,
  mixedTypes: ({ column, count, values, example, line }) =>
    `“${column}” is text because it has several types: ${count} of ${values} values become text, the first ${example} in line ${line}.`,
  spacedNames: ({ column, count }) =>
    `${counted(count, String(count), 'column name begins or ends', 'column names begin or end')} with a space, the first “${column}”.`,
  rowIDs: () => '$rowID is left out: a new table gives its rows new IDs.',
}

/** Says which values make a column text, and what its other values are. */
function madeText({ column, count, values, example, line, others }: Required<Advice>): string {
  return `“${column}” is text because of ${count} of ${values} values, the first “${example}” in line ${line}; the others are ${others}.`
}

/** What to do about the numbers: the choice that reads decimal commas, if that is the remedy. */
function choiceOf({ remedy }: Required<Advice>): string {
  return remedy.option === 'decimal'
    ? ' If it is a decimal comma, choose “1234,5” in “Numbers”.'
    : ' Write all numbers of the column alike.'
}

function numbersAsText(
  { column, count, values, example, line }: Required<Advice>,
  what: string,
): string {
  return `“${column}” is text because ${count} of ${values} values have ${what}, the first “${example}” in line ${line}.`
}

function lines(count: number): string {
  return counted(count, String(count), 'line', 'lines')
}

function converted({ column, count, example, line }: Required<Advice>): string {
  const values = counted(count, String(count), 'value', 'values')
  return `${values} of “${column}” converted, such as “${example}” in line ${line}.`
}

/** The values of members that a piece of advice lacks. Its text does not use them. */
const NO_ADVICE = {
  column: '',
  line: 0,
  count: 0,
  values: 0,
  others: 'numbers',
  example: '',
  remedy: { option: 'header', value: '' },
} as const

export function textOfAdvice(advice: Advice): string {
  return ADVICE[advice.code]({ ...NO_ADVICE, ...advice })
}
