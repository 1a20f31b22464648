// The OpenAPI document for tests: operations by request, with all references resolved.
import DOCUMENT from '../../src/contract/openapi/openapi.json' with { type: 'json' }
import { record, type Schema } from './json-schema.js'

export type ResponseAt = Readonly<{
  status: string
  /** Schemas of headers that every such answer has, by name in lower case. */
  headers: ReadonlyMap<string, Schema>
  /** Schemas of headers that only some of these answers have. */
  optionalHeaders: ReadonlyMap<string, Schema>
  /** Schemas by media type; empty: no body. */
  content: ReadonlyMap<string, Schema>
}>

export type ParameterAt = Readonly<{
  name: string
  in: string
  isRequired: boolean
  schema: Schema
}>

export type OperationAt = Readonly<{
  id: string
  method: string
  path: string
  parameters: readonly ParameterAt[]
  /** Schemas of the request body by media type. */
  requestContent: ReadonlyMap<string, Schema>
  responses: ReadonlyMap<string, ResponseAt>
}>

export type PathAt = Readonly<{
  path: string
  pattern: RegExp
  operations: ReadonlyMap<string, OperationAt>
  otherMethods: ResponseAt
}>

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options']

export class OpenApi {
  readonly document: Schema
  readonly paths: readonly PathAt[]
  readonly unknownPath: ResponseAt
  /** The answer to a client whose keys were refused too often, on any path. */
  readonly refusedClient: ResponseAt
  readonly serverRefusal: ResponseAt
  readonly corsPreflight: ResponseAt
  /** Headers that any answer may have besides those of its operation. */
  readonly corsHeaders: ReadonlyMap<string, Schema>
  readonly #resolved = new Map<string, Schema>()

  /** @param document - By default one document for all proofs, so that they share the cache of its schemas. */
  constructor(document: unknown = DOCUMENT) {
    this.document = record(document)
    this.paths = Object.entries(record(this.document['paths'])).map(([path, item]) =>
      this.#path(path, record(item)),
    )
    this.unknownPath = this.#response('404', this.document['x-rowstash-unknown-path'])
    this.refusedClient = this.#response('429', this.document['x-rowstash-refused-client'])
    const cors = record(this.document['x-rowstash-cors'])
    this.corsPreflight = this.#response('204', cors['preflight'])
    this.corsHeaders = this.#response('', { headers: cors['headers'] }).headers
    this.serverRefusal = this.#response('default', {
      $ref: '#/components/responses/ServerRefusal',
    })
  }

  get operations(): readonly OperationAt[] {
    return this.paths.flatMap(({ operations }) => [...operations.values()])
  }

  /** Resolves a reference. @throws {Error} if its target is missing */
  readonly resolve = (ref: string): Schema => {
    const known = this.#resolved.get(ref)
    if (known !== undefined) return known
    const [root, ...names] = ref.split('/')
    if (root !== '#') throw new Error(`${ref} does not begin with #/`)
    let at: unknown = this.document
    for (const name of names) at = record(at)[name]
    if (at === undefined) throw new Error(`${ref} leads nowhere`)
    const found = record(at)
    this.#resolved.set(ref, found)
    return found
  }

  /**
   * The path item of a request. If several match, the first with the method: `import` in `/tables/import` is the ID of
   * a table for every method but POST.
   * @param path - Without a query.
   */
  pathOf(path: string, method: string): PathAt | undefined {
    const found = this.paths.filter(({ pattern }) => pattern.test(path))
    return found.find(({ operations }) => operations.has(method)) ?? found[0]
  }

  #path(path: string, item: Schema): PathAt {
    const shared = this.#parameters(item['parameters'])
    const operations = METHODS.filter((method) => method in item).map((method) => {
      const operation = this.#operation(method.toUpperCase(), path, record(item[method]), shared)
      return [operation.method, operation] as const
    })
    return {
      path,
      pattern: patternOf(path),
      operations: new Map(operations),
      otherMethods: this.#response('405', item['x-rowstash-other-methods']),
    }
  }

  #operation(
    method: string,
    path: string,
    operation: Schema,
    shared: readonly ParameterAt[],
  ): OperationAt {
    const { operationId, parameters, requestBody, responses } = operation
    const entries = Object.entries(record(responses)).map(
      ([status, response]) => [status, this.#response(status, response)] as const,
    )
    return {
      id: String(operationId),
      method,
      path,
      parameters: [...shared, ...this.#parameters(parameters)],
      requestContent: this.#content(record(requestBody ?? {})['content']),
      responses: new Map(entries),
    }
  }

  #parameters(given: unknown): readonly ParameterAt[] {
    if (given === undefined) return []
    if (!Array.isArray(given)) throw new Error('Parameters must be a list')
    return given.map((parameter: unknown) => {
      const { name, in: place, required = false, schema } = this.#follow(parameter)
      return {
        name: String(name),
        in: String(place),
        isRequired: required === true,
        schema: record(schema),
      }
    })
  }

  #response(status: string, given: unknown): ResponseAt {
    const { headers, content } = this.#follow(given)
    const described = Object.entries(record(headers ?? {})).map(([name, header]) => {
      const { schema, required } = this.#follow(header)
      return { name: name.toLowerCase(), schema: record(schema), isOptional: required === false }
    })
    const schemasOf = (isOptional: boolean) =>
      new Map(
        described
          .filter((header) => header.isOptional === isOptional)
          .map(({ name, schema }) => [name, schema]),
      )
    const ofHeaders = { headers: schemasOf(false), optionalHeaders: schemasOf(true) }
    return { status, ...ofHeaders, content: this.#content(content) }
  }

  #content(given: unknown): ReadonlyMap<string, Schema> {
    const entries = Object.entries(record(given ?? {}))
    return new Map(entries.map(([type, media]) => [type, record(record(media)['schema'])]))
  }

  #follow(given: unknown): Schema {
    const part = record(given)
    return typeof part['$ref'] === 'string' ? this.resolve(part['$ref']) : part
  }
}

/** One trailing slash is accepted. A file's name may be omitted, and everything below /uploads/ is an upload ID. */
function patternOf(path: string): RegExp {
  if (path === '/uploads/{uploadID}') return /^\/uploads\/.+$/
  const source = path
    .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
    .replace('/{fileName}', '(?:/[^/]+)?')
    .replace(/\{\w+\}/g, '[^/]+')
  return new RegExp(`^${source}/?$`)
}
