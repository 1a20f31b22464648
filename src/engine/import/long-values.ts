// Values of long rows, which are judged after their row, in steps: one array may have megabytes of elements. The order
// of the values does not matter: each value only removes kinds from a summary and adds flags to it.
import type { Steps } from '../../base/time-slices.js'
import type { ColumnSummary } from '../../schema/column-summary.js'
import {
  summarizeText,
  summarizeTextInSteps,
  summarizeToken,
  summarizeTokenInSteps,
} from '../../schema/summarize.js'

/** Maximum number of characters of one row that are judged without a pause. */
const AT_ONCE_CHARS_MAX = 16 * 1024

type Later = Readonly<{ summary: ColumnSummary; text: string; isField: boolean }>

export class LongValues {
  #rowChars = 0
  #later: Later[] = []

  get isEmpty(): boolean {
    return this.#later.length === 0
  }

  /** Called before the values of each row. */
  beginRow(): void {
    this.#rowChars = 0
  }

  /** Called before a value is judged. @returns false: it must be judged later */
  mayJudge(chars: number): boolean {
    this.#rowChars += chars
    return this.#rowChars <= AT_ONCE_CHARS_MAX
  }

  /** Judges a JSON token, or queues it for later. */
  judgeToken(summary: ColumnSummary, token: string): void {
    if (this.mayJudge(token.length)) summarizeToken(summary, token)
    else this.add(summary, token)
  }

  /** Judges a field of CSV or TSV, or queues it for later. */
  judgeField(summary: ColumnSummary, text: string): void {
    if (this.mayJudge(text.length)) summarizeText(summary, text)
    else this.#later.push({ summary, text, isField: true })
  }

  /** Queues a JSON token for later. */
  add(summary: ColumnSummary, token: string): void {
    this.#later.push({ summary, text: token, isField: false })
  }

  /** Judges the queued values. */
  *judgeInSteps(): Steps<void> {
    const later = this.#later
    this.#later = []
    for (const { summary, text, isField } of later) {
      yield* isField ? summarizeTextInSteps(summary, text) : summarizeTokenInSteps(summary, text)
      yield AT_ONCE_CHARS_MAX
    }
  }
}
