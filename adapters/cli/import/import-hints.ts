// What to do about files that cannot be read as they are.
import type { SourceFault } from '../../base/records.js'
import type { SourceFile } from './source-file.js'

/** What a fault of quotes is told with, where nothing is said of them. */
const RELAXED_HINT =
  '; if quotes inside fields are text, as spreadsheets write them, use --quotes relaxed'

/** Whether a message is about quotes that `--quotes relaxed` would take as text. */
const QUOTE_PROBLEM =
  /A quote in a field that does not begin with one|quote (that )?is not closed|inside a quoted field/i

/** What to do about a file that is not of its format. */
export function hintOfFault(
  { message, isEmpty, isObject }: SourceFault,
  { format, dialect }: Pick<SourceFile, 'format' | 'dialect'>,
): string {
  if (isEmpty) return '; --allow-empty imports it as no rows'
  if (isObject) return '; use --format ndjson for one object per line, or --at for an array in it'
  if (message.includes('say which has the rows')) return ': --at PATH'
  if (format !== 'csv' && format !== 'tsv') return ''
  if (message.includes('is read as '))
    return '; --dialect plain reads all values as they are written'
  // A quote that opens a field too many takes all that follows, until the row is too large.
  const mayBeQuotes = QUOTE_PROBLEM.test(message) || message.startsWith('this row is')
  return mayBeQuotes && dialect?.quotes !== 'relaxed' ? RELAXED_HINT : ''
}

/** What to do about rows that a server refuses to read. */
export function hintOfRefusal(message: string, files: readonly SourceFile[]): string {
  const isText = ({ format }: SourceFile): boolean => format === 'csv' || format === 'tsv'
  const isSaid = (name: 'quotes' | 'extraFields'): boolean =>
    files.some(({ dialect }) => dialect?.[name] !== undefined)
  if (QUOTE_PROBLEM.test(message)) return isSaid('quotes') ? '' : RELAXED_HINT
  if (/fields? for|more fields/i.test(message) && files.some(isText) && !isSaid('extraFields')) {
    return '; --extra-fields drop leaves the others out, --skip-lines N lines in front of the header'
  }
  const isEncoded = files.some(({ encoding }) => encoding !== undefined)
  if (!/^not valid UTF-8/i.test(message) || isEncoded) return ''
  return '; specify its encoding, such as --encoding windows-1252'
}
