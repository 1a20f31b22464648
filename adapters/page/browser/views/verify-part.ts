// The verification of the store, with its progress and its findings.
import { messageOf } from '../../../../src/base/shown-text.js'
import { readWebStream } from '../../../../src/base/web-stream.js'
import type { VerifyFinding, VerifyReport } from '../../../../src/index.js'
import type { Api } from '../base/api.js'
import { button, el, fill, setDisabled, setText } from '../base/dom.js'
import { shownBytes, shownCount } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import type { ViewContext } from './shell.js'

type VerifyCounts = VerifyReport['checked']

/** The maximum number of findings that are shown. */
const FINDINGS_MAX = 100

type VerifyLine = Readonly<{
  finding?: VerifyFinding
  checked?: VerifyCounts
  report?: Readonly<{ ok: boolean; damageCount: number; checked: VerifyCounts }>
  error?: Readonly<{ message: string }>
}>

type VerifyEvents = Readonly<{
  onFinding: (finding: VerifyFinding) => void
  onChecked: (checked: VerifyCounts) => void
}>

/** @param bytesHeld - Bytes that the full check has to read, if known. */
export function verifyPart(context: ViewContext, bytesHeld: () => number | undefined): HTMLElement {
  const output = el('div', { class: 'verifyOutput' })
  const quick = button(TEXT.verifyQuick, () => run(false))
  const full = button(TEXT.verifyFull, () => run(true))
  const run = (isFull: boolean): void => {
    const findings = el('ul', { class: 'findings' })
    const state = new VerifyState(context.now, isFull ? bytesHeld : () => undefined)
    const ending = new AbortController()
    const end = (message: string): void => {
      const hadFocus = document.activeElement === cancel
      fill(output, el('p', { role: 'status' }, message), findings)
      setDisabled(false, quick, full)
      if (hadFocus) (isFull ? full : quick).focus()
    }
    context.signal.addEventListener('abort', () => ending.abort())
    setDisabled(true, quick, full)
    const cancel = button(TEXT.cancel, () => ending.abort())
    fill(output, state.element, cancel, findings)
    const onFinding = (finding: VerifyFinding): void => {
      if (findings.children.length < FINDINGS_MAX) findings.append(findingLine(finding))
    }
    readVerification(context.api, isFull, ending.signal, {
      onFinding,
      onChecked: (checked) => state.show(checked),
    })
      .then(end, (failure: unknown) => {
        end(ending.signal.aborted ? TEXT.verifyCancelled : messageOf(failure))
      })
      .finally(() => state.close())
  }
  return el(
    'section',
    { class: 'verify' },
    el('h2', {}, TEXT.verify),
    el('p', { class: 'muted' }, TEXT.verifyHelp),
    el('div', { class: 'actions' }, quick, full),
    output,
  )
}

/** The progress of a verification. */
class VerifyState {
  readonly element: HTMLElement
  readonly #bar = el('progress', { max: 1, 'aria-label': TEXT.verify })
  readonly #text = el('p', {})
  readonly #now: () => number
  readonly #began: number
  readonly #bytesHeld: () => number | undefined
  readonly #clock = setInterval(() => this.#tell(), 500)
  #checked = ''

  constructor(now: () => number, bytesHeld: () => number | undefined) {
    this.#now = now
    this.#began = now()
    this.#bytesHeld = bytesHeld
    this.element = el('div', { class: 'progress' }, this.#bar, this.#text)
    this.#tell()
  }

  show(checked: VerifyCounts): void {
    this.#checked = amountsOf(checked)
    const all = this.#bytesHeld() ?? 0
    if (all > 0) this.#bar.value = Math.min(1, checked.bytes / all)
    this.#tell()
  }

  close(): void {
    clearInterval(this.#clock)
  }

  #tell(): void {
    const seconds = Math.round((this.#now() - this.#began) / 1_000)
    setText(this.#text, TEXT.verifying(seconds, this.#checked))
  }
}

function amountsOf({ tables, rows, files, bytes }: VerifyCounts): string {
  const amount = (count: number) => [count, shownCount(count)] as const
  return TEXT.checked(amount(tables), amount(rows), amount(files), shownBytes(bytes))
}

function findingLine({ severity, message, kind: _, ...place }: VerifyFinding): HTMLElement {
  const where = Object.entries(place).map(([name, value]) => `${name} ${value}`)
  return el(
    'li',
    {},
    el('strong', { class: severity === 'damage' ? 'problem' : '' }, TEXT.severities[severity]),
    ` ${message} `,
    el('span', { class: 'muted' }, where.join(', ')),
  )
}

/** @returns the final message */
async function readVerification(
  api: Api,
  isFull: boolean,
  signal: AbortSignal,
  { onFinding, onChecked }: VerifyEvents,
): Promise<string> {
  const { body } = await api.verify(isFull, signal)
  if (body === null) return ''
  let rest = ''
  let said = ''
  for await (const piece of readWebStream(body.pipeThrough(new TextDecoderStream()))) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines.filter((text) => text.trim() !== '')) {
      const { finding, checked, report, error } = JSON.parse(line) as VerifyLine
      if (finding !== undefined) onFinding(finding)
      if (checked !== undefined) onChecked(checked)
      if (error !== undefined) throw new Error(error.message)
      if (report === undefined) continue
      const found = TEXT.verified(report.ok, shownCount(report.damageCount))
      said = `${found} ${TEXT.checkedAll(amountsOf(report.checked))}`
    }
  }
  return said
}
