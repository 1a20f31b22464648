// The types of rows, derived from the columns of a schema.
import type { ColumnKind, TableSchema } from './column-kind.js'
import type { NumberForm } from './parse-rendered.js'
import type { StandardSchema } from './standard-schema.js'

/** The type of a column in a defined schema: a kind, or `[kind]` for an array of that kind. */
export type ColumnShape = ColumnKind | readonly [ColumnKind]

/** A column in a defined schema: its type, or its type and its display name. */
export type ColumnSpec =
  | ColumnShape
  | Readonly<{
      /** The kind of the values, such as `string`, or of the elements, such as `['string']`. */
      type: ColumnShape
      /** Shown to people instead of the column ID. Rows use the ID. Default: none. */
      displayName?: string | undefined
    }>

/** The columns of a defined schema by ID, in table order. */
export type ColumnSpecs = Readonly<Record<string, ColumnSpec>>

/** The argument of `defineSchema`. `Input`: the input rows of the validator. */
export type SchemaDefinition<Specs extends ColumnSpecs, Input> = Readonly<{
  /** The columns by ID, in table order. */
  columns: Specs
  /**
   * Checks every row object in a create, add, overwrite or merge, and may change it: its output is stored. It may be
   * any implementation of Standard Schema, such as a schema of zod, valibot or arktype. Updates of cells are checked
   * only against the columns. Default: none.
   */
  validator?: StandardSchema<Input, Cells<Specs>> | undefined
}>

/** A schema with typed rows. It is valid wherever a schema is. */
export type Schema<Specs extends ColumnSpecs = ColumnSpecs, Input = unknown> = TableSchema &
  Readonly<{
    /** The definition of the schema. It is not enumerable, and never stored. */
    definition: SchemaDefinition<Specs, Input>
  }>

/** Any defined schema. */
export type AnySchema = TableSchema &
  Readonly<{
    /** See `Schema`. */
    definition: Readonly<{ columns: ColumnSpecs; validator?: StandardSchema | undefined }>
  }>

/** The IDs of the columns of a schema. */
export type ColumnOf<S extends AnySchema> = keyof S['definition']['columns'] & string

/** The columns of a schema. */
export type SpecsOf<S extends AnySchema> = S['definition']['columns']

type ShapeOf<Spec extends ColumnSpec> = Spec extends ColumnShape
  ? Spec
  : Spec extends Readonly<{ type: infer Shape extends ColumnShape }>
    ? Shape
    : never

type ReadNumber<Form extends NumberForm> = Form extends 'text'
  ? string
  : Form extends 'bigint'
    ? number | bigint
    : number

type ReadValue<Kind, Form extends NumberForm> = Kind extends 'number'
  ? ReadNumber<Form>
  : Kind extends 'boolean'
    ? boolean
    : Kind extends 'duration'
      ? string | ReadNumber<Form>
      : string

type ReadCell<Spec extends ColumnSpec, Form extends NumberForm> =
  ShapeOf<Spec> extends readonly [infer Kind]
    ? readonly ReadValue<Kind, Form>[]
    : ReadValue<ShapeOf<Spec>, Form>

/** A row as read: its ID and its non-empty cells. */
export type RowOf<Specs extends ColumnSpecs, Form extends NumberForm = 'number'> = Readonly<
  { $rowID: string } & { [Column in keyof Specs]?: ReadCell<Specs[Column], Form> }
>

/** A row of a schema, as read: its ID and its non-empty cells. `Form`: the option `numbers` of the read. */
export type Row<S extends AnySchema, Form extends NumberForm = 'number'> = RowOf<SpecsOf<S>, Form>

type WrittenValue<Kind> = Kind extends 'number'
  ? number | bigint
  : Kind extends 'boolean'
    ? boolean
    : Kind extends 'duration'
      ? string | number | bigint
      : TextOrDate<Kind>

/** A `Date` is written as ISO text, which is a `dateTime`. */
type TextOrDate<Kind> = Kind extends 'dateTime' ? string | Date : string

type WrittenCell<Spec extends ColumnSpec> =
  ShapeOf<Spec> extends readonly [infer Kind]
    ? readonly WrittenValue<Kind>[]
    : WrittenValue<ShapeOf<Spec>>

/** Cells of a row to write, by column ID. null is an empty cell; undefined is the same as absent. */
export type Cells<Specs extends ColumnSpecs> = Readonly<{
  [Column in keyof Specs]?: WrittenCell<Specs[Column]> | null | undefined
}>

/** Cells of a row for an update. null empties a cell; absent columns do not change. */
export type CellsOf<S extends AnySchema> = Cells<SpecsOf<S>>

/** The values of all key columns of a row. Arrays cannot be keys. */
export type KeyOf<S extends AnySchema> = Readonly<{
  [Column in keyof SpecsOf<S> as ShapeOf<SpecsOf<S>[Column]> extends readonly unknown[]
    ? never
    : Column]?: WrittenValue<ShapeOf<SpecsOf<S>[Column]>>
}>

/** A row of a schema to write: its cells; with a validator, the validator's input. */
export type InputRow<S extends AnySchema> =
  S['definition'] extends Readonly<{ validator?: StandardSchema<infer Input, unknown> | undefined }>
    ? Input & Readonly<{ $rowID?: string | undefined }>
    : never

type TextTest<Kind> = Equality<TextOrDate<Kind>> & Order<TextOrDate<Kind>> & TextPart & Emptiness
type FoldedTest = Equality<string> &
  TextPart &
  Emptiness &
  Readonly<{ ignoreCase: true; ignoreAccents?: boolean }>
type NumberTest = Equality<NumberText> & Order<NumberText> & Emptiness
/** A number, a BigInt, or number text, which may have more digits than both. */
type NumberText = number | bigint | `${number}`

type Equality<Value> = Readonly<{
  eq?: Value | null
  ne?: Value | null
  in?: readonly Value[]
}>
type Order<Value> = Readonly<{
  gt?: Value
  gte?: Value
  lt?: Value
  lte?: Value
}>
type TextPart = Readonly<{ startsWith?: string; contains?: string }>
type Emptiness = Readonly<{ isEmpty?: boolean }>

type TestedValue<Kind> = Kind extends 'number'
  ? NumberText
  : Kind extends 'boolean'
    ? boolean
    : Kind extends 'duration'
      ? string | number | bigint
      : TextOrDate<Kind>

type TestOf<Kind> = Kind extends 'number'
  ? NumberTest
  : Kind extends 'boolean' | 'duration'
    ? Equality<TestedValue<Kind>> & Emptiness
    : Kind extends 'date' | 'time' | 'dateTime'
      ? TextTest<Kind>
      : TextTest<Kind> | FoldedTest

type ArrayTest<Kind> = Emptiness &
  Readonly<{
    has?: TestedValue<Kind>
    eq?: null
    ne?: null
  }>

type CellTest<Spec extends ColumnSpec> =
  ShapeOf<Spec> extends readonly [infer Kind]
    ? ArrayTest<Kind> | null
    : TestOf<ShapeOf<Spec>> | TestedValue<ShapeOf<Spec>> | null

/** The name of a column in a condition. */
type WhereName<Column> = Column extends `$${string}` ? `$${Column}` : Column

/** `Where` for the columns of a schema and the operators of their kinds. */
export type WhereOf<Specs extends ColumnSpecs> = Readonly<
  { [Column in keyof Specs as WhereName<Column>]?: CellTest<Specs[Column]> } & {
    /** All of the conditions must hold. */
    $and?: readonly WhereOf<Specs>[]
    /** One of the conditions must hold. */
    $or?: readonly WhereOf<Specs>[]
    /** The condition must not hold. */
    $not?: WhereOf<Specs>
  }
>

/** A condition on the rows of a schema: `Where` for its columns and the operators of their kinds. */
export type TypedWhere<S extends AnySchema> = WhereOf<SpecsOf<S>>
