// How a cell looks. A text of a row never becomes markup, a script, or a request to another origin.
import type { ColumnType } from '../base/api.js'
import { el, fill, setText } from '../base/dom.js'
import { jsonText } from '../base/json-text.js'
import * as TEXT from '../base/texts.js'

/** The maximum number of characters of a cell in the grid. The pane shows all. */
const CELL_CHARS_MAX = 240

/** Puts a value into a cell of the grid. */
export function fillCell(cell: HTMLElement, value: unknown, { kind }: ColumnType): void {
  const url = isUriKind(kind) ? storedFilePath(value) : undefined
  if (url !== undefined && kind === 'imageURI') {
    cell.className = 'cell picture'
    const picture = makePicture(url, 'thumb', () => fillFileCell(cell, value))
    picture.loading = 'lazy'
    cell.replaceChildren(picture)
    return
  }
  if (url !== undefined) {
    fillFileCell(cell, value)
    return
  }
  cell.className = `cell ${cellClassName(value, kind)}`
  setText(cell, shortText(value))
}

/** A file of this server, shown by its URL. */
function fillFileCell(cell: HTMLElement, value: unknown): void {
  cell.className = 'cell text'
  fill(cell, el('span', { class: 'badge' }, TEXT.storedFile), ` ${shortText(value)}`)
}

export function isUriKind(kind: string): boolean {
  return kind === 'uri' || kind.endsWith('URI')
}

/** @param onMissing - Called if there is no picture, unless the element shows something else by then. */
function makePicture(url: string, className: string, onMissing: () => void): HTMLImageElement {
  const picture: HTMLImageElement = el('img', {
    src: url,
    alt: lastPathPart(url),
    class: className,
    onerror: () => {
      if (picture.isConnected) onMissing()
    },
  })
  return picture
}

function cellClassName(value: unknown, kind: string): string {
  if (value === undefined || value === null) return 'empty'
  if (kind === 'number') return 'number'
  if (kind === 'boolean') return value === true ? 'yes' : 'no'
  if (kind === 'date' || kind === 'dateTime' || kind === 'time') return 'time'
  return Array.isArray(value) ? 'list' : 'text'
}

export function shortText(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = Array.isArray(value)
    ? value.map((item) => (typeof item === 'string' ? item : jsonText(item))).join(' · ')
    : typeof value === 'string'
      ? value
      : jsonText(value)
  return text.length > CELL_CHARS_MAX ? `${text.slice(0, CELL_CHARS_MAX)}…` : text
}

/** Shows a whole value in the pane. */
export function wholeCell(value: unknown, { kind }: ColumnType): HTMLElement {
  if (value === undefined || value === null) return el('span', { class: 'empty' }, TEXT.emptyCell)
  const url = storedFilePath(value)
  if (url !== undefined && kind === 'imageURI') {
    const picture = makePicture(url, 'preview', () => {
      picture.replaceWith(el('p', { class: 'muted' }, TEXT.noPicture))
    })
    return el('div', {}, picture, linkTo(url, String(value)))
  }
  if (Array.isArray(value)) return el('pre', { tabindex: 0 }, jsonText(value, 2))
  if (typeof value !== 'string') return el('span', { class: 'whole' }, jsonText(value))
  return isUriKind(kind) ? linkTo(url ?? value, value) : el('span', { class: 'whole' }, value)
}

/** A link, if the URL is a web address. Its target learns nothing about this page. */
function linkTo(url: string, text: string): HTMLElement {
  const isWeb = /^https?:\/\//i.test(url) || url.startsWith('files/')
  if (!isWeb) return el('span', { class: 'whole' }, text)
  const attributes = { href: url, target: '_blank', rel: 'noopener noreferrer', class: 'whole' }
  return el('a', attributes, text)
}

/** The path of a stored file on this server, from its URL on any server of the store. undefined: it is another URL. */
function storedFilePath(value: unknown): string | undefined {
  const found =
    typeof value === 'string' ? /(?:^|\/)files\/(rsf-[A-Za-z0-9_-]+)(?:[/?#]|$)/.exec(value) : null
  return found === null ? undefined : `files/${found[1]}`
}

function lastPathPart(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1)
}

/** A type as the schema shows it. */
export function shownType({ kind, items }: ColumnType): string {
  return items === undefined ? kind : `${items.kind}[]`
}

const WIDTHS: Readonly<Record<string, number>> = {
  boolean: 90,
  number: 120,
  date: 120,
  time: 110,
  dateTime: 230,
  emoji: 90,
  imageURI: 130,
}

/** The initial width of a column, in pixels. */
export function firstWidth({ kind }: ColumnType, name: string): number {
  const forName = name.length * 8 + kind.length * 7 + 58
  return Math.min(320, Math.max(WIDTHS[kind] ?? 190, forName))
}
