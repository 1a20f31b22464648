// The warnings of an import: about accepted rows that may be misread.
import type { Advice, AdviceCode } from '../../base/intake.js'
import { adviceMessage } from './advice-messages.js'
import type { FileReport } from './import-reports.js'

/** A warning as in the result line; `message` is the line for people. */
export type ImportWarning = Readonly<
  | ({ type: AdviceCode; path: string; message: string } & Omit<Advice, 'code'>)
  /** About rejected values. */
  | { type: 'decimalComma'; column: string; count: number; message: string }
  | { type: 'nameTaken' | 'columnsUnread'; message: string }
>

/** Codes of advice that states facts rather than warnings. */
const NOTED: ReadonlySet<AdviceCode> = new Set<AdviceCode>([
  'at',
  'delimiter',
  'nested',
  'oneColumn',
])

/** The warnings about how files were read. */
export function warningsOfReading(read: readonly FileReport[]): readonly ImportWarning[] {
  return messagesOf(read, ({ code }) => !NOTED.has(code))
}

/** The lines for people about how files were read. */
export function notesOfReading(read: readonly FileReport[]): readonly string[] {
  return messagesOf(read, ({ code }) => NOTED.has(code)).map(({ message }) => message)
}

function messagesOf(
  read: readonly FileReport[],
  isWanted: (advice: Advice) => boolean,
): readonly ImportWarning[] {
  return read.flatMap(({ path, advice }) =>
    advice.filter(isWanted).map((one): ImportWarning => {
      const { code, ...about } = one
      return { type: code, path, ...about, message: `${path}: ${adviceMessage(one)}` }
    }),
  )
}
