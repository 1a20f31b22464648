// TypeScript for the tables of a team.
import type { Column, ColumnType, TableInfo } from '../../../src/index.js'
import { escapeControls } from '../../base/arguments.js'

/** The maximum number of characters of a table's name in its identifier. */
const NAME_CHARS_MAX = 60

/** The declarations of a table. */
export type TableTypes = Readonly<{
  id: string
  name: string
  /** The names of the exported schema and of the exported row type. */
  schemaName: string
  rowName: string
  text: string
}>

/** The first line, before the declarations. */
const TYPES_IMPORT = "import { defineSchema, type Row } from 'rowstash'\n"

/** A module with a schema for each table, and the type of its rows. */
export function renderTypes(tables: readonly NamedTable[]): string {
  const parts = typesOf(tables).map(({ text }) => text)
  return parts.length === 0 ? 'export {}\n' : [TYPES_IMPORT, ...parts].join('\n')
}

type NamedTable = Pick<TableInfo, 'id' | 'name' | 'schema'>

export function typesOf(tables: readonly NamedTable[]): readonly TableTypes[] {
  const taken = new Set<string>()
  return tables.map(({ id, name, schema }) => {
    const own = ownName(name, taken)
    const columns = schema.columns.map((column) => `    ${renderColumn(column)},\n`)
    const schemaName = `${own}Schema`
    const rowName = `${own[0]?.toUpperCase()}${own.slice(1)}Row`
    const text = [
      `/** ${commented(`Table ${quotedLiteral(name)}, ${id}`)} */`,
      `export const ${schemaName} = defineSchema({`,
      columns.length === 0 ? '  columns: {},' : `  columns: {\n${columns.join('')}  },`,
      '})',
      `export type ${rowName} = Row<typeof ${schemaName}>`,
      '',
    ].join('\n')
    return { id, name, schemaName, rowName, text }
  })
}

/** A unique identifier from the letters and digits of a name, or from `table`. */
function ownName(name: string, taken: Set<string>): string {
  const words = name.match(/[A-Za-z0-9]+/g) ?? []
  const joined = words.map((word, i) => (i === 0 ? lowered(word) : raised(word))).join('')
  const base = /^[a-z]/.test(joined) ? joined.slice(0, NAME_CHARS_MAX) : `table${raised(joined)}`
  let own = base
  for (let number = 2; taken.has(own); number++) own = `${base}${number}`
  taken.add(own)
  return own
}

function lowered(word: string): string {
  return /^[A-Z0-9]+$/.test(word)
    ? word.toLowerCase()
    : word.slice(0, 1).toLowerCase() + word.slice(1)
}

function raised(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1, NAME_CHARS_MAX)
}

function renderColumn({ id, type, displayName }: Column): string {
  const shape = renderShape(type)
  if (displayName === undefined || displayName === id) return `${member(id)}: ${shape}`
  return `${member(id)}: { type: ${shape}, displayName: ${quotedLiteral(displayName)} }`
}

function renderShape(type: ColumnType): string {
  return type.kind === 'array' ? `[${quotedLiteral(type.items.kind)}]` : quotedLiteral(type.kind)
}

/** A text that cannot end its comment or its line. */
function commented(text: string): string {
  return escapeControls(text).replaceAll('*/', '*\\/')
}

/** A quoted member `__proto__` would set the prototype; a computed one does not. */
function member(id: string): string {
  if (id === '__proto__') return "['__proto__']"
  return /^[A-Za-z_$][\w$]*$/.test(id) ? id : quotedLiteral(id)
}

/** A TypeScript string literal in single quotes. */
function quotedLiteral(text: string): string {
  const json = JSON.stringify(text).slice(1, -1)
  const safe = json.replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${escapeControls(safe)}'`
}

/** The type of a column for people. */
export function renderType(type: ColumnType): string {
  return type.kind === 'array' ? `array of ${type.items.kind}` : type.kind
}
