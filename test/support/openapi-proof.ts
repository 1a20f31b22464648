// Compares answers with the OpenAPI document, and records which of its answers occurred.
import { problemsOf, type Schema } from './json-schema.js'
import { OpenApi, type OperationAt, type ResponseAt } from './openapi.js'

/** A request and its answer. */
export type Exchange = Readonly<{
  method: string
  /** Path and query as sent, without the base URL. */
  path: string
  status: number
  /** A header of the answer by its name in lower case. */
  headers: ReadonlyMap<string, string>
  /** The body of the answer; undefined: it was not kept. */
  text: string | undefined
  /** The request, as far as it is known. */
  request?: Readonly<{ headers: ReadonlyMap<string, string>; text?: string | undefined }>
}>

/** Headers of connections, and headers that servers add to every answer. The document omits them. */
const UNDESCRIBED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'x-content-type-options',
])

type ValidBody = Readonly<{ type: string; text: string }>

/** Most valid bodies remembered per schema. More than one, because several requests may be under way. */
const VALID_BODIES_MAX = 4

/** An answer is compared twice with the same schema: as the contract returns it, and as HTTP delivers it. */
const validBodies = new WeakMap<Schema, ValidBody[]>()

function isKnownValid(schema: Schema, type: string, text: string): boolean {
  const known = validBodies.get(schema)
  return known?.some((body) => body.type === type && body.text === text) ?? false
}

function keepValid(schema: Schema, type: string, text: string): void {
  const known = validBodies.get(schema) ?? []
  known.push({ type, text })
  if (known.length > VALID_BODIES_MAX) known.shift()
  validBodies.set(schema, known)
}

export class OpenApiProof {
  readonly openApi = new OpenApi()
  readonly #seen = new Set<string>()

  /** Compares an answer with the document. @returns the differences */
  check(exchange: Exchange): readonly string[] {
    const { method, status } = exchange
    const [path = ''] = exchange.path.split('?')
    const found = this.openApi.pathOf(path, method)
    const operation = found?.operations.get(method)
    const candidates = [
      ['', found === undefined ? this.openApi.unknownPath : undefined],
      ['', found !== undefined && operation === undefined ? found.otherMethods : undefined],
      [operation?.id ?? '', operation?.responses.get(String(status))],
      ['', method === 'OPTIONS' ? this.openApi.corsPreflight : undefined],
      // The key is checked before the method.
      ['', operation === undefined ? this.openApi.unknownPath : undefined],
      ['', operation === undefined ? this.openApi.refusedClient : undefined],
      ['', this.openApi.serverRefusal],
    ] as const
    let first: readonly string[] | undefined
    for (const [id, response] of candidates) {
      if (response === undefined) continue
      if (response.status !== 'default' && response.status !== String(status)) continue
      const problems = this.#problemsOf(exchange, response)
      if (problems.length === 0) {
        this.#see(exchange, id, response)
        return operation === undefined ? [] : this.#requestProblems(exchange, operation)
      }
      first ??= problems
    }
    const where = `${method} ${exchange.path.slice(0, 100)} answered with ${status}`
    return (first ?? ['the status is not in the document']).map(
      (problem) => `${where}: ${problem}; ${exchange.text?.slice(0, 200)}`,
    )
  }

  /** The statements of the document that never occurred. */
  get unseen(): readonly string[] {
    return [...this.#all()].filter((name) => !this.#seen.has(name))
  }

  get seenCount(): number {
    return [...this.#all()].filter((name) => this.#seen.has(name)).length
  }

  #problemsOf(exchange: Exchange, response: ResponseAt): readonly string[] {
    return [...this.#headerProblems(exchange, response), ...this.#bodyProblems(exchange, response)]
  }

  #headerProblems({ headers }: Exchange, response: ResponseAt): readonly string[] {
    const wrong = [...response.headers].flatMap(([name, schema]) => {
      const value = headers.get(name)
      if (value === undefined) return [`the header ${name} is missing`]
      return problemsOf(value, schema, this.openApi.resolve, name)
    })
    const other = [...headers].flatMap(([name, value]) => {
      if (response.headers.has(name) || isUndescribed(name, value)) return []
      const schema = response.optionalHeaders.get(name) ?? this.openApi.corsHeaders.get(name)
      if (schema === undefined) return [`the header ${name} is not in the document`]
      return problemsOf(value, schema, this.openApi.resolve, name)
    })
    return [...wrong, ...other]
  }

  #bodyProblems(
    { method, headers, text }: Exchange,
    { status, content }: ResponseAt,
  ): readonly string[] {
    if (method === 'HEAD' || content.size === 0) {
      return text === undefined || text === '' ? [] : [`a body came with ${status}`]
    }
    const type = essenceOf(headers.get('content-type'))
    const schema = content.get(type) ?? content.get('*/*')
    if (schema === undefined) return [`the media type ${type} is not in the document`]
    if (text === undefined || isKnownValid(schema, type, text)) return []
    const problems = problemsOf(parse(type, text), schema, this.openApi.resolve)
    if (problems.length === 0) keepValid(schema, type, text)
    return problems
  }

  /** The document must have every successful request. */
  #requestProblems({ path, status, request }: Exchange, operation: OperationAt): readonly string[] {
    if (status >= 400) return []
    const query = new URLSearchParams(path.split('?')[1] ?? '')
    const parameters = operation.parameters.flatMap(({ name, in: place, schema }) => {
      const values =
        place === 'query'
          ? query.getAll(schema['type'] === 'object' ? ([...query.keys()][0] ?? '') : name) // Members are parameters.
          : [request?.headers.get(name.toLowerCase())].filter((value) => value !== undefined)
      if (place === 'path' || values.length === 0) return []
      this.#seen.add(`${operation.id} takes ${name}`)
      if (values.length === 1 && values[0] === '') return []
      return problemsOf(argumentOf(values, schema), schema, this.openApi.resolve, name)
    })
    return [...parameters, ...this.#requestBodyProblems(request, operation)]
  }

  #requestBodyProblems(
    request: Exchange['request'],
    { id, requestContent }: OperationAt,
  ): readonly string[] {
    if (request === undefined || requestContent.size === 0) return []
    const type = essenceOf(request.headers.get('content-type'))
    const known = requestContent.has(type) ? type : '*/*'
    const schema = requestContent.get(known)
    if (schema === undefined) return [`a body of the type ${type} was taken`]
    this.#seen.add(`${id} takes a body of ${known}`)
    if (request.text === undefined) return []
    return problemsOf(parse(type, request.text), schema, this.openApi.resolve, 'request')
  }

  #see({ method, status, text }: Exchange, id: string, response: ResponseAt): void {
    const type = method === 'HEAD' || status < 400 ? undefined : typeOf(text)
    this.#seen.add(nameOf(response.status === 'default' ? '' : id, status, type))
  }

  #all(): ReadonlySet<string> {
    const names = this.openApi.operations.flatMap((operation) => [
      ...[...operation.responses.values()].flatMap((response) =>
        this.#namesOf(operation.id, response, operation.method),
      ),
      ...operation.parameters
        .filter((parameter) => parameter.in !== 'path')
        .map(({ name }) => `${operation.id} takes ${name}`),
      ...[...operation.requestContent.keys()].map(
        (type) => `${operation.id} takes a body of ${type}`,
      ),
    ])
    const others = this.openApi.paths.map(({ otherMethods }) => otherMethods)
    const { unknownPath, refusedClient, corsPreflight } = this.openApi
    const shared = [...others, unknownPath, refusedClient, corsPreflight]
    return new Set([...names, ...shared.flatMap((response) => this.#namesOf('', response, 'GET'))])
  }

  /** The names by which a response is counted: one per error type. */
  #namesOf(id: string, response: ResponseAt, method: string): readonly string[] {
    if (response.status === 'default') {
      const errors = this.#errorsOf(this.openApi.serverRefusal)
      return errors.map(({ status, type }) => nameOf('', status, type))
    }
    const status = Number(response.status)
    if (status < 400 || method === 'HEAD') return [nameOf(id, status, undefined)]
    return this.#errorsOf(response).map(({ type }) => nameOf(id, status, type))
  }

  #errorsOf({ content }: ResponseAt): readonly Readonly<{ status: number; type: string }>[] {
    const schema: Schema = content.get('application/json') ?? {}
    const refs = (schema['oneOf'] ?? schema['anyOf'] ?? [schema]) as readonly Readonly<{
      $ref: string
    }>[]
    return refs.map(({ $ref }) => {
      const [, status, type = ''] = /\/(?:Rows)?Error_(\d+)_(\w+)$/.exec($ref) ?? []
      return { status: Number(status), type }
    })
  }
}

function nameOf(id: string, status: number, type: string | undefined): string {
  return [id === '' ? 'server' : id, status, type].filter((part) => part !== undefined).join(' ')
}

function isUndescribed(name: string, value: string): boolean {
  return UNDESCRIBED.has(name) || (name === 'cache-control' && value === 'no-cache')
}

function typeOf(text: string | undefined): string | undefined {
  const body = JSON.parse(text ?? '{}') as { error?: { type: string } }
  return body.error?.type
}

function essenceOf(mediaType: string | undefined): string {
  return (mediaType ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

function parse(type: string, text: string): unknown {
  return type === 'application/json' ? JSON.parse(text.replace(/^\ufeff/, '')) : text
}

/** A query or header value, converted according to its schema. */
function argumentOf(values: readonly string[], { type }: Schema): unknown {
  if (type === 'array') return values.flatMap((value) => value.split(','))
  const [value = ''] = values
  if (type === 'object') return { [value]: value }
  return type === 'integer' ? Number(value) : value
}
