// TypeScript for the tables of a team.
import type { Column, ColumnType, TableInfo } from '../../src/index.js'
import { escapeControls } from '../base/arguments.js'

/** Characters of a table's name that its identifier has, at most. */
const NAME_CHARS_MAX = 60

/** A module with a schema for each table, and the type of its rows. */
export function renderTypes(tables: readonly Pick<TableInfo, 'id' | 'name' | 'schema'>[]): string {
  const taken = new Set<string>()
  const parts = tables.map(({ id, name, schema }) => {
    const own = ownName(name, taken)
    const columns = schema.columns.map((column) => `    ${renderColumn(column)},\n`)
    return [
      `/** Table ${quoted(name).replaceAll('*/', '*\\/')}, ${id} */`,
      `export const ${own}Schema = defineSchema({`,
      columns.length === 0 ? '  columns: {},' : `  columns: {\n${columns.join('')}  },`,
      '})',
      `export type ${own[0]?.toUpperCase()}${own.slice(1)}Row = Row<typeof ${own}Schema>`,
      '',
    ].join('\n')
  })
  const imports = "import { defineSchema, type Row } from 'rowstash'\n"
  return tables.length === 0 ? 'export {}\n' : [imports, ...parts].join('\n')
}

/** An identifier that no other table has: of the letters and digits of the name, else `table`. */
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
  return `${member(id)}: { type: ${shape}, displayName: ${quoted(displayName)} }`
}

function renderShape(type: ColumnType): string {
  return type.kind === 'array' ? `['${type.items.kind}']` : `'${type.kind}'`
}

/** A name in quotes sets the prototype if it is `__proto__`; a computed one does not. */
function member(id: string): string {
  if (id === '__proto__') return "['__proto__']"
  return /^[A-Za-z_$][\w$]*$/.test(id) ? id : quoted(id)
}

/** A text of TypeScript: JSON, in single quotes. */
function quoted(text: string): string {
  const json = JSON.stringify(text).slice(1, -1)
  const safe = json.replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${escapeControls(safe)}'`
}

/** The type of a column as people read it. */
export function renderType(type: ColumnType): string {
  return type.kind === 'array' ? `array of ${type.items.kind}` : type.kind
}
