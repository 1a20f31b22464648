// Values of long rows, which are judged after their row, in steps: the elements of one array may be megabytes
// that take long to judge. The order does not matter, as a summary only loses kinds and gains what was seen.
import type { Steps } from '../../base/time-slices.js'
import type { ColumnSummary } from '../../schema/column-summary.js'
import {
  summarizeText,
  summarizeTextInSteps,
  summarizeToken,
  summarizeTokenInSteps,
} from '../../schema/summarize.js'

/** Characters of one row that are checked without a pause. */
const AT_ONCE_CHARS_MAX = 16 * 1024

type Later = Readonly<{ summary: ColumnSummary; text: string; isField: boolean }>

export class LongValues {
  #rowChars = 0
  #later: Later[] = []

  get isEmpty(): boolean {
    return this.#later.length === 0
  }

  /** Must be called before the values of each row. */
  beginRow(): void {
    this.#rowChars = 0
  }

  /** Notes that a value is about to be judged. @returns false: it is to be judged later. */
  mayJudge(chars: number): boolean {
    this.#rowChars += chars
    return this.#rowChars <= AT_ONCE_CHARS_MAX
  }

  /** Judges a JSON token, or keeps it for later. */
  judgeToken(summary: ColumnSummary, token: string): void {
    if (this.mayJudge(token.length)) summarizeToken(summary, token)
    else this.add(summary, token)
  }

  /** Judges a field of CSV or TSV, or keeps it for later. */
  judgeField(summary: ColumnSummary, text: string): void {
    if (this.mayJudge(text.length)) summarizeText(summary, text)
    else this.#later.push({ summary, text, isField: true })
  }

  /** Keeps a JSON token for later. */
  add(summary: ColumnSummary, token: string): void {
    this.#later.push({ summary, text: token, isField: false })
  }

  /** Judges what was kept. */
  *judgeInSteps(): Steps<void> {
    const later = this.#later
    this.#later = []
    for (const { summary, text, isField } of later) {
      yield* isField ? summarizeTextInSteps(summary, text) : summarizeTokenInSteps(summary, text)
      yield AT_ONCE_CHARS_MAX
    }
  }
}
