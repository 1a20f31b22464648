// Advice for files that cannot be read with the given options.
import { type Dialect, type IntakeReport, renderDelimiter } from '../../base/intake.js'
import type { SourceFault } from '../../base/records.js'
import { quotedForShell } from './advice-messages.js'
import { optionOf } from './dialect-options.js'
import type { SourceFile } from './source-file.js'

/** The hint for a fault of quotes, if no given option concerns quotes. */
const RELAXED_HINT =
  '; if quotes inside fields are text, as spreadsheets write them, use --quotes relaxed'

/** Messages about quotes that `--quotes relaxed` would accept. */
const QUOTE_PROBLEM =
  /A quote in an unquoted field|quote (that )?is not closed|inside a quoted field/i

/** Advice for a malformed file. @param report - The report so far. */
export function hintOfFault(
  { message, isEmpty, isObject }: SourceFault,
  { format, dialect = {}, detects = true }: Omit<SourceFile, 'path'>,
  report?: IntakeReport,
): string {
  if (isEmpty) return '; --allow-empty imports it as no rows'
  if (isObject) return '; use --format ndjson for one object per line, or --at for an array in it'
  if (message.includes('name the one with the rows')) return ': --at PATH'
  if (format !== 'csv' && format !== 'tsv') return ''
  if (message.includes('is read as ')) {
    const said = CONVERTING.filter((name) => dialect[name] !== undefined).map(nameOfOption)
    const without = said.length === 0 ? '' : `, if ${said.join(' and ')} is left out`
    const plain = ['--dialect plain', ...(report ? plainOptions(report, dialect) : [])].join(' ')
    return `; ${detects ? plain : 'the command'} reads all values as they are written${without}`
  }
  // After a wrong opening quote, all following text belongs to one row, until the row is too large.
  const mayBeQuotes = QUOTE_PROBLEM.test(message) || message.startsWith('this row is')
  return mayBeQuotes && dialect.quotes === undefined ? RELAXED_HINT : ''
}

/** Options that turn a column into numbers, days or booleans. */
const CONVERTING = ['decimal', 'columns', 'thousands', 'currency', 'dates', 'booleans'] as const

function nameOfOption(name: (typeof CONVERTING)[number]): string {
  return optionOf(name === 'columns' ? 'decimal' : name)
}

/** The options that state what was detected for the whole file. Detections for single columns are left out. */
function plainOptions({ delimiter = ',', advice }: IntakeReport, said: Dialect): readonly string[] {
  const found = new Map(advice.map(({ code, ...about }) => [code, about]))
  const options: Dialect = {
    ...(delimiter !== ',' && { delimiter: renderDelimiter(delimiter) }),
    ...(found.has('encoding') && { encoding: found.get('encoding')?.example ?? '' }),
    ...(found.has('skippedLines') && { skipLines: found.get('skippedLines')?.count ?? 0 }),
    ...(found.has('trimmed') && { trim: true }),
    ...(found.has('backslashes') && { escape: 'backslash' }),
    ...(found.has('nulls') && { nulls: ['\\N'] }),
    ...(found.has('blankLines') && { blankLines: 'skip' }),
    ...(found.has('extraFields') && { extraFields: 'dropEmpty' }),
  }
  return Object.entries(options).flatMap(([name, value]) => {
    if (said[name as keyof Dialect] !== undefined) return []
    return value === true
      ? [optionOf(name)]
      : [`${optionOf(name)} ${quotedForShell(String(value))}`]
  })
}

/** Advice for rows that a server cannot read. */
export function hintOfRefusal(message: string, files: readonly SourceFile[]): string {
  const isText = ({ format }: SourceFile): boolean => format === 'csv' || format === 'tsv'
  const isSaid = (name: 'quotes' | 'extraFields' | 'skipLines'): boolean =>
    files.some(({ dialect }) => dialect?.[name] !== undefined)
  if (QUOTE_PROBLEM.test(message)) return isSaid('quotes') ? '' : RELAXED_HINT
  if (/fields? for|more fields/i.test(message) && files.some(isText) && !isSaid('extraFields')) {
    const inFront = isSaid('skipLines') ? '' : ', --skip-lines N leaves out lines before the header'
    return `; --extra-fields drop leaves the extra fields out${inFront}`
  }
  const isEncoded = files.some(({ encoding }) => encoding !== undefined)
  if (!/^not valid UTF-8/i.test(message) || isEncoded) return ''
  return '; specify its encoding, such as --encoding windows-1252'
}
