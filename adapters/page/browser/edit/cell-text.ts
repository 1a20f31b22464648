// Converts a cell to the text that a person types, and back. Numbers keep their digits: they never become JavaScript
// numbers.
import { isDate, isDateTime, isDuration, isTime } from '../../../../src/schema/time-rules.js'
import type { ColumnType } from '../base/api.js'
import * as EDIT from '../base/edit-texts.js'
import { jsonText, parseJson, plainText } from '../base/json-text.js'

/** The meaning of a text: the JSON of the value; `null` is an empty cell. */
export type ParsedCell = Readonly<{
  token: string
  /** The rule that the text breaks. */
  problem?: string
  /** Whether a server may accept the value nevertheless. */
  isMaybe?: boolean
}>

const EMPTY = 'null'
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

export function tokenOf(value: unknown): string {
  return value === undefined ? EMPTY : jsonText(value)
}

/** The initial text of an input. A list has one element per line, or is JSON if an element would be misread so. */
export function textOfCell(value: unknown, { items }: ColumnType): string {
  if (items === undefined || !Array.isArray(value)) return plainText(value)
  const lines = value.map(plainText)
  const isPlain = lines.every((line) => line !== '' && !/^\s*\[|[\r\n]/.test(line))
  return isPlain ? lines.join('\n') : jsonText(value)
}

/** The rules for the texts of each kind. The store decides finally. For kinds without a rule here, it alone decides. */
const RULES: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  time: isTime,
  dateTime: isDateTime,
  duration: (text) => isDuration(text) || NUMBER.test(text),
  number: (text) => NUMBER.test(text) && Number.isFinite(Number(text)),
  boolean: (text) => /^(?:true|false)$/.test(text),
}

/** The forms of addresses, which a store may be configured not to check. */
const FORMS: Readonly<Record<string, RegExp>> = {
  emailAddress: /^[^\s@]+@[^\s@]+$/,
  phoneNumber: /^[^a-df-z]*(?:\d[^a-df-z]*){3}/,
  uri: /^[a-z][\w+.-]*:\S+$/i,
  imageURI: /^[a-z][\w+.-]*:\S+$/i,
  audioURI: /^[a-z][\w+.-]*:\S+$/i,
}

export function parseCell(text: string, { kind, items }: ColumnType): ParsedCell {
  const isBlank = text.trim() === ''
  if (isBlank && (text === '' || !isFreeText(kind))) return { token: EMPTY }
  if (items === undefined) return scalarCell(text, kind)
  if (text.trimStart().startsWith('[')) return jsonCell(text.trim(), items.kind)
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  return listOf(lines.map((line) => scalarCell(line, items.kind)))
}

function jsonCell(token: string, kind: string): ParsedCell {
  try {
    const elements = parseJson(token) as readonly unknown[]
    return { ...listOf(elements.map((element) => scalarCell(plainText(element), kind))), token }
  } catch {
    return { token, problem: EDIT.rules.array }
  }
}

function listOf(cells: readonly ParsedCell[]): ParsedCell {
  const worst = cells.find(({ problem, isMaybe }) => problem !== undefined && isMaybe !== true)
  const bad = worst ?? cells.find(({ problem }) => problem !== undefined)
  return { ...bad, token: `[${cells.map(({ token }) => token).join()}]` }
}

function scalarCell(text: string, kind: string): ParsedCell {
  if (isFreeText(kind)) return { token: JSON.stringify(text) }
  const bare = kind === 'boolean' ? text.trim().toLowerCase() : text.trim()
  const isBare =
    kind === 'boolean' || ((kind === 'number' || kind === 'duration') && NUMBER.test(bare))
  const token = isBare ? bare : JSON.stringify(bare)
  const form = FORMS[kind]
  const fits = form === undefined ? (RULES[kind]?.(bare) ?? true) : form.test(bare)
  if (fits) return { token }
  const problem = EDIT.rules[kind as keyof typeof EDIT.rules]
  return { token, problem, ...(form !== undefined && { isMaybe: true }) }
}

function isFreeText(kind: string): boolean {
  return kind === 'string' || kind === 'markdown'
}
