// What a team stores besides tables: files, staged rows, open uploads and jobs; their sizes, and when they expire.
import { messageOf } from '../../../../src/base/shown-text.js'
import type { FileInfo, JobInfo, StashInfo, UploadInfo } from '../base/api.js'
import { confirmDeletion } from '../base/confirm.js'
import { button, type Child, el, fill, setAttributes, start } from '../base/dom.js'
import { shownAge, shownBytes, shownCount, shownTime } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import { previewFile } from './file-preview.js'
import { mayWrite, type View, type ViewContext } from './shell.js'

export async function openStored(context: ViewContext): Promise<View> {
  const { api, signal } = context
  const sections = [
    filesSection(context),
    section(TEXT.stashes, TEXT.stashesHelp, TEXT.stashColumns, async (part) => {
      part.show((await api.stashes(signal)).map((stash) => stashLine(context, stash, part)))
    }),
    section(TEXT.uploads, TEXT.uploadsHelp, TEXT.uploadColumns, async (part) => {
      part.show((await api.uploads(signal)).map((upload) => uploadLine(context, upload)))
    }),
    section(TEXT.jobs, TEXT.jobsHelp, TEXT.jobColumns, async (part) => {
      part.show((await api.jobs(signal)).map((job) => jobLine(context, job)))
    }),
  ]
  const element = el('section', { class: 'page' }, el('h1', {}, TEXT.tabs.stored), ...sections)
  return { element, title: TEXT.tabs.stored, close: () => undefined }
}

/** The part of a section for its content. */
type Part = Readonly<{
  show: (lines: readonly HTMLElement[], ...below: readonly Child[]) => void
  reload: () => void
}>

/** All lists have the same number of columns, with the same widths, so that they align. */
const COLUMNS = 6
/** The index of the column with sizes or states. */
const SIZE_AT = 2

/** A section of the view. Each reads its own list: a key may be allowed to read one and not another. */
function section(
  title: string,
  help: string,
  columns: readonly string[],
  read: (part: Part) => Promise<void>,
): HTMLElement {
  const body = el('div', { class: 'storedBody' }, el('p', { class: 'muted' }, TEXT.loading))
  const head = columns.map((name, at) => {
    const isNumber = at === SIZE_AT || name === TEXT.stashColumns[1]
    return el('th', { scope: 'col', class: isNumber ? 'number' : '' }, name)
  })
  head.push(
    el(
      'th',
      { scope: 'col', class: 'number', colspan: COLUMNS - columns.length },
      el('span', { class: 'offscreen' }, TEXT.actions),
    ),
  )
  const part: Part = {
    show: (lines, ...below) => {
      for (const line of lines) {
        for (const [at, cell] of [...line.children].entries())
          setAttributes(cell, { 'data-label': columns[at] })
      }
      if (lines.length === 0) return fill(body, el('p', { class: 'muted' }, TEXT.nothingThere))
      const table = el(
        'table',
        { class: 'tables aligned' },
        el('thead', {}, el('tr', {}, ...head)),
        el('tbody', {}, ...lines),
      )
      const wide = { class: 'wide', tabindex: 0, role: 'region', 'aria-label': title }
      fill(body, el('div', wide, table), ...below)
    },
    reload: () => load(),
  }
  const load = (): void =>
    start(read(part), (failure) => {
      fill(body, el('p', { class: 'problem' }, messageOf(failure)))
    })
  load()
  return el(
    'section',
    { class: 'stored' },
    el('h2', {}, title),
    el('p', { class: 'muted' }, help),
    body,
  )
}

const FILES_SHOWN_MAX = 10_000

function filesSection(context: ViewContext): HTMLElement {
  const { api, signal } = context
  return section(TEXT.files, TEXT.filesHelp, TEXT.fileColumns, async (part) => {
    const files: FileInfo[] = []
    const more = async (continuation?: string): Promise<void> => {
      const page = await api.files(continuation, signal)
      files.push(...page.data)
      files.sort((one, other) => other.completedAt - one.completedAt)
      const next = page.continuation
      const isMore = next !== undefined && files.length < FILES_SHOWN_MAX
      const again = button(TEXT.moreFiles, () => start(more(next), context.fail))
      part.show(
        files.map((file) => fileLine(context, file, part)),
        isMore ? el('p', { class: 'actions' }, again) : null,
      )
    }
    await more()
  })
}

function fileLine(context: ViewContext, file: FileInfo, part: Part): HTMLElement {
  const { id, fileName, contentType, bytes, completedAt, keptUntil } = file
  const preview = button(TEXT.preview, () => previewFile(file), {
    class: 'plain',
    'aria-label': TEXT.previewOf(fileName),
  })
  const remove = removal(context, fileName, () => context.api.deleteFile(id), part)
  return el(
    'tr',
    {},
    el('td', { class: 'name' }, fileName),
    el('td', {}, contentType),
    el('td', { class: 'number' }, shownBytes(bytes)),
    ageCell(context, completedAt),
    ageCell(context, keptUntil),
    el('td', { class: 'number' }, preview, remove),
  )
}

function stashLine(context: ViewContext, stash: StashInfo, part: Part): HTMLElement {
  const { id, rows, bytes, createdAt, expiresAt } = stash
  return el(
    'tr',
    {},
    el('td', { class: 'name' }, id),
    el('td', { class: 'number' }, shownCount(rows)),
    el('td', { class: 'number' }, shownBytes(bytes)),
    ageCell(context, createdAt),
    ageCell(context, expiresAt),
    el(
      'td',
      { class: 'number' },
      removal(context, id, () => context.api.deleteStash(id), part),
    ),
  )
}

function uploadLine(
  context: ViewContext,
  { fileName, contentType, bytes, createdAt, endsAt }: UploadInfo,
): HTMLElement {
  return el(
    'tr',
    {},
    el('td', { class: 'name' }, fileName),
    el('td', {}, contentType),
    el('td', { class: 'number' }, bytes === undefined ? TEXT.unknown : shownBytes(bytes)),
    ageCell(context, createdAt),
    ageCell(context, endsAt),
    el('td', {}),
  )
}

function jobLine(context: ViewContext, { kind, status, tableID, createdAt }: JobInfo): HTMLElement {
  const link = el('a', { href: `#/table/${encodeURIComponent(tableID)}` }, TEXT.showTable)
  return el(
    'tr',
    {},
    el('td', { class: 'name' }, kind),
    el('td', {}, status === 'succeeded' ? link : tableID),
    el('td', { class: 'number' }, TEXT.jobStates[status] ?? status),
    ageCell(context, createdAt),
    el('td', { colspan: 2 }),
  )
}

function ageCell(context: ViewContext, at: number): HTMLElement {
  return el('td', { title: shownTime(at) }, shownAge(at, context.now()))
}

function removal(
  context: ViewContext,
  name: string,
  remove: () => Promise<void>,
  part: Part,
): HTMLElement | null {
  if (!mayWrite(context)) return null
  const label = TEXT.deleteStored(name)
  const ask = (): void =>
    confirmDeletion(label, TEXT.forgetQuestion(name), () => {
      const removed = remove().then(() => {
        part.reload()
        context.say(TEXT.deleted(name))
      })
      start(removed, context.fail)
    })
  return button(TEXT.deleteTable, ask, { class: 'plain quiet', 'aria-label': label })
}
