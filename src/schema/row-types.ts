// The types of rows that follow from the columns of a schema.
import type { ColumnKind, TableSchema } from './column-kind.js'
import type { NumberForm } from './parse-rendered.js'
import type { StandardSchema } from './standard-schema.js'

/** The type of a column in a defined schema: a kind, or `[kind]` for an array of that kind. */
export type ColumnShape = ColumnKind | readonly [ColumnKind]

/** A column in a defined schema: its type, or its type and its display name. */
export type ColumnSpec =
  | ColumnShape
  | Readonly<{
      /** The kind of the values, as `string`, or of the elements, as `['string']`. */
      type: ColumnShape
      /** Shown to people in place of the column ID. Rows have the ID. Default: none. */
      displayName?: string | undefined
    }>

/** The columns of a defined schema by their IDs, in the order of the table. */
export type ColumnSpecs = Readonly<Record<string, ColumnSpec>>

/** What `defineSchema` takes. `Input`: the rows that the validator takes. */
export type SchemaDefinition<Specs extends ColumnSpecs, Input> = Readonly<{
  /** The columns by their IDs, in the order of the table. */
  columns: Specs
  /**
   * Checks every row object that a create, an add, an overwrite or a merge brings, and may change it: its output is
   * stored. Any implementation of Standard Schema, such as zod, valibot or arktype. Updates of cells are checked against
   * the columns only. Default: none.
   */
  validator?: StandardSchema<Input, Cells<Specs>> | undefined
}>

/** A schema that the compiler knows: it goes wherever a schema is taken, and says what rows are made of. */
export type Schema<Specs extends ColumnSpecs = ColumnSpecs, Input = unknown> = TableSchema &
  Readonly<{
    /** What the schema was made of. It is not enumerable, and never stored. */
    definition: SchemaDefinition<Specs, Input>
  }>

/** Any defined schema. */
export type AnySchema = TableSchema &
  Readonly<{
    /** As in `Schema`. */
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

/** A row as it is read: its ID, and its non-empty cells. */
export type RowOf<Specs extends ColumnSpecs, Form extends NumberForm = 'number'> = Readonly<
  { $rowID: string } & { [Column in keyof Specs]?: ReadCell<Specs[Column], Form> }
>

/** A row of a schema as it is read: its ID, and its non-empty cells. `Form`: the `numbers` of the read. */
export type Row<S extends AnySchema, Form extends NumberForm = 'number'> = RowOf<SpecsOf<S>, Form>

type WrittenValue<Kind> = Kind extends 'number'
  ? number | bigint
  : Kind extends 'boolean'
    ? boolean
    : Kind extends 'duration'
      ? string | number | bigint
      : TextOrDate<Kind>

/** A `Date` is its ISO text, which is a `dateTime`. */
type TextOrDate<Kind> = Kind extends 'dateTime' ? string | Date : string

type WrittenCell<Spec extends ColumnSpec> =
  ShapeOf<Spec> extends readonly [infer Kind]
    ? readonly WrittenValue<Kind>[]
    : WrittenValue<ShapeOf<Spec>>

/** Cells of a row as they are written, by column ID. null is an empty cell; undefined is as absent. */
export type Cells<Specs extends ColumnSpecs> = Readonly<{
  [Column in keyof Specs]?: WrittenCell<Specs[Column]> | null | undefined
}>

/** The cells of a row of a schema, as an update takes them. null empties a cell, absent columns stay. */
export type CellsOf<S extends AnySchema> = Cells<SpecsOf<S>>

/** The values of key columns of a row: of a table with a key, all of its columns. Arrays are no keys. */
export type KeyOf<S extends AnySchema> = Readonly<{
  [Column in keyof SpecsOf<S> as ShapeOf<SpecsOf<S>[Column]> extends readonly unknown[]
    ? never
    : Column]?: WrittenValue<ShapeOf<SpecsOf<S>[Column]>>
}>

/** A row of a schema as it is written: its cells; with a validator, what that one takes. */
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
/** A number, a BigInt, or the text of a number, which may have more digits than both. */
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

/** Which rows are wanted, as `Where`, with the columns of a schema and the operators that each of them takes. */
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

/** A condition on rows of a schema: as `Where`, with its columns and the operators that each of them takes. */
export type TypedWhere<S extends AnySchema> = WhereOf<SpecsOf<S>>
