// Changes the schema of a table. Its rows stay as they are stored, and are converted when they are read.
import type { Bytes } from '../../base/bytes.js'
import { schemaKey, type TableKey } from '../../format/keys.js'
import { encodeSchema, type Generation } from '../../format/records.js'
import { nextPast, schemaText } from '../../format/schema-record.js'
import type { TableSchema } from '../../schema/column-kind.js'
import type { IndexedSchema } from '../caches/schema-cache.js'

export type NewSchema = Readonly<{
  schema: TableSchema
  before: IndexedSchema
  /** Whether an existing column has another type, so that existing cells may be served in another form. */
  retypes: boolean
}>

/** The new schema; null: the table keeps its schema. */
export function planNewSchema(before: IndexedSchema, after: IndexedSchema): NewSchema | null {
  const { schema } = after
  if (after === before || JSON.stringify(schema) === JSON.stringify(before.schema)) return null
  const retypes = before.schema.columns.some(({ id, type }) => {
    return JSON.stringify(after.columns.get(id)?.type) !== JSON.stringify(type)
  })
  return { schema, before, retypes }
}

/**
 * The same schema, which forgets its dropped columns: no row of a new generation has cells in them. null: the schema
 * remembers none.
 */
export function withoutPast(before: IndexedSchema): NewSchema | null {
  return before.past === null ? null : { schema: before.schema, before, retypes: false }
}

/** The generation under a new schema. Its rows stay, and are converted when they are read. */
export function underSchema(
  generation: Generation,
  { retypes }: NewSchema,
  version: number,
): Generation {
  const schemaNumber = generation.schemaNumber + 1
  if (!retypes) return { ...generation, schemaNumber }
  const { nextExtent: convertBefore } = generation
  return { ...generation, schemaNumber, convertBefore, widenedAt: version }
}

/** @param version - The version that the change makes; null: the generation has no earlier rows. */
export function putSchema(
  table: TableKey,
  { schemaNumber }: Generation,
  { schema, before }: NewSchema,
  version: number | null,
): readonly [Bytes, Bytes] {
  const past = version === null ? null : nextPast(before.past, before.schema, schema, version)
  return [schemaKey(table, schemaNumber), encodeSchema(schemaText(schema, past))]
}
