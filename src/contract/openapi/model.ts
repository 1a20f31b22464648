// The parts of the OpenAPI document. Operations are described as entries, which `document.ts` renders.
import type { ErrorCode } from '../error-response.js'

/** An error that an operation may list: a code, or a response without a code. */
export type DocumentedCode = ErrorCode | 'RANGE_NOT_SATISFIABLE' | 'INTERNAL_ERROR'

type SchemaType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | 'null'

/** JSON Schema 2020-12, with the keywords that this document uses. */
export type JsonSchema = Readonly<{
  $ref?: string
  type?: SchemaType | readonly SchemaType[]
  const?: string | number | boolean
  enum?: readonly string[]
  oneOf?: readonly JsonSchema[]
  anyOf?: readonly JsonSchema[]
  properties?: Readonly<Record<string, JsonSchema>>
  required?: readonly string[]
  additionalProperties?: boolean | JsonSchema
  items?: JsonSchema
  minItems?: number
  maxItems?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  minimum?: number
  maximum?: number
  description?: string
  /** Not in the published interface. */
  'x-rowstash'?: true
}>

/** A response header, or a parameter in the query or a header. */
export type ParameterEntry = Readonly<{
  in: 'query' | 'header'
  name: string
  description: string
  schema: JsonSchema
  /** A list may be repeated or comma-separated. */
  isList?: true
  ours?: true
}>

export type HeaderEntry = Readonly<{
  description: string
  schema: JsonSchema
  /** Only some of the responses have it. */
  required?: false
  ours?: true
}>

export type SuccessEntry<Header extends string> = Readonly<{
  description: string
  /** Headers that every such response has. */
  headers?: readonly Header[]
  /** Schemas by media type; absent: no body. */
  content?: Readonly<Record<string, JsonSchema>>
  ours?: true
}>

export type BodyEntry = Readonly<{
  description: string
  /** Schemas by media type. */
  content: Readonly<Record<string, JsonSchema>>
}>

export type Tag =
  | 'Tables'
  | 'Rows'
  | 'Stashes'
  | 'Jobs'
  | 'Uploads'
  | 'Files'
  | 'Administration'
  | 'Document'

/** One method on one path. Parameters of the path follow from the path. */
export type Entry<Parameter extends string, Header extends string> = Readonly<{
  operationId: string
  tag: Tag
  summary: string
  description?: string
  /** The kind of key that the operation takes. */
  security: 'team' | 'admin' | 'none'
  parameters?: readonly Parameter[]
  body?: BodyEntry
  /** By status. */
  success: Readonly<Record<string, SuccessEntry<Header>>>
  /** Every failure that the operation itself may answer; statuses and types follow from the codes. */
  errors: readonly DocumentedCode[]
  /** Not in the published interface. */
  ours?: true
}>
