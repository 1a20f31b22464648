// Makes a table schema from a shorter form, from which the compiler derives the types of rows.
import { isRecord } from '../base/options.js'
import { invalidArgument } from '../base/store-error.js'
import type { Column, TableSchema } from './column-kind.js'
import type {
  AnySchema,
  Cells,
  ColumnSpec,
  ColumnSpecs,
  Schema,
  SchemaDefinition,
} from './row-types.js'
import type { StandardSchema } from './standard-schema.js'
import { parseTableSchema } from './table-schema.js'

const MEMBERS: readonly string[] = [
  'columns',
  'validator',
] satisfies (keyof AnySchema['definition'])[]

/**
 * Makes a schema with typed rows. The result is accepted wherever a schema is. `team.table(id, schema)` is a table
 * with rows of this type, which is `Row<typeof schema>`.
 *
 * A column is a kind, an array such as `['string']`, or `{ type, displayName }`. Columns are in the order of the
 * members; JavaScript puts names like `7` first.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_ID_RESERVED
 * @example
 * import type { Row } from 'rowstash'
 * import { defineSchema } from 'rowstash'
 *
 * const Order = defineSchema({ columns: { name: 'string', quantity: 'number', tags: ['string'] } })
 * const { tableId } = await team.createTable({ name: 'Orders', schema: Order, rows: [{ name: 'Tea', quantity: 3 }] })
 * const row: Row<typeof Order> | undefined = (await team.table(tableId, Order).page()).rows[0]
 * console.log(row?.name, row?.quantity) // Tea 3
 */
export function defineSchema<const Specs extends ColumnSpecs, Input = Cells<Specs>>(
  definition: SchemaDefinition<Specs, Input>,
): Schema<Specs, Input> {
  if (!isRecord(definition) || !isRecord(definition.columns)) {
    throw invalidArgument('defineSchema takes { columns }, an object of column types by column ID')
  }
  const other = Object.keys(definition).find((name) => !MEMBERS.includes(name))
  if (other !== undefined)
    throw invalidArgument(`'${other}' is not a member of a schema definition`)
  checkValidator(definition.validator)
  const columns = Object.entries<ColumnSpec>(definition.columns).map(columnOfSpec)
  const schema: TableSchema = parseTableSchema({ columns }, Number.POSITIVE_INFINITY)
  const own = { ...definition }
  return Object.defineProperty(schema, 'definition', { value: own }) as Schema<Specs, Input>
}

function columnOfSpec([id, spec]: [string, ColumnSpec]): Readonly<Record<keyof Column, unknown>> {
  if (!isRecord(spec)) return { id, displayName: undefined, type: typeOf(spec) }
  const { type, displayName, ...others } = spec
  return { ...others, id, displayName, type: typeOf(type) }
}

/** Makes an array type of `[kind]`. All else is returned unchanged, for the checks of a schema to accept or reject. */
function typeOf(shape: unknown): unknown {
  if (!Array.isArray(shape) || shape.length !== 1) return shape
  return { kind: 'array', items: { kind: shape[0] as unknown } }
}

function checkValidator(given: unknown): void {
  if (given === undefined) return
  const validator = given as Partial<StandardSchema> | null
  if (typeof validator?.['~standard']?.validate === 'function') return
  throw invalidArgument(
    'validator must implement Standard Schema, like those of zod, valibot and arktype',
  )
}

/** The validator of a schema made by `defineSchema`. */
export function validatorOf(schema: unknown): StandardSchema | undefined {
  if (typeof schema !== 'object' || schema === null || !('definition' in schema)) return undefined
  return (schema as AnySchema).definition.validator
}
