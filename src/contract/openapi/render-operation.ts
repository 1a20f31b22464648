// Renders the entries of operations as OpenAPI.
import type { Operation } from './bodies.js'
import {
  describe,
  errorName,
  errorSchema,
  errorsOf,
  SERVER_ERRORS,
  type WireError,
} from './errors.js'
import type { DocumentedCode, HeaderEntry, JsonSchema, ParameterEntry, Tag } from './model.js'
import { HEADERS, type HeaderName, PARAMETERS, WIRE_NAMES } from './parameters.js'
import { SCHEMAS } from './schemas.js'

/** A part of the document. */
export type Rendered = Readonly<Record<string, unknown>>

type Content = Readonly<Record<string, JsonSchema>>

/** Headers of every response of the operations without a key. */
const OPEN_HEADERS: readonly HeaderName[] = ['AllowOrigin', 'ExposeHeaders']

/** The extension that describes the option `cors`: headers for pages of the named origins. */
export function renderCors(): Rendered {
  return {
    description:
      'With the option cors of the server, answers of operations with a key have these headers for pages of the named origins, and OPTIONS of every path answers their browsers without a key.',
    headers: renderHeaders(['NamedOrigin', 'ExposeHeaders', 'Vary']),
    preflight: { $ref: '#/components/responses/CorsPreflight' },
  }
}

/** Headers of every error with these statuses. */
const HEADERS_OF_STATUS: Readonly<Record<number, readonly HeaderName[]>> = {
  405: ['Allow'],
  416: ['UnsatisfiedRange'],
  429: ['RetryAfter'],
  503: ['RetryAfter'],
}

export function renderOperation(method: string, operation: Operation): Rendered {
  const { operationId, tag, summary, description, security, parameters = [], body } = operation
  const responses = renderResponses(operation)
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...mark(operation.ours),
    security: security === 'none' ? [] : [{ [security]: [] }],
    ...(parameters.length > 0 && {
      parameters: parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    }),
    ...(body && {
      requestBody: {
        description: body.description,
        required: true,
        content: renderContent(body.content),
      },
    }),
    responses: method === 'HEAD' ? withoutContent(responses) : responses,
  }
}

/** HEAD of a path that has a GET and no HEAD of its own. */
export function renderHead(get: Operation): Rendered {
  const operationId = `${get.operationId}Head`
  const summary = `${get.summary}: the headers`
  return renderOperation('HEAD', { ...get, operationId, summary, ours: true })
}

type Responses = Readonly<Record<string, Rendered>>

function withoutContent(responses: Responses): Responses {
  return Object.fromEntries(
    Object.entries(responses).map(([status, { content: _, ...response }]) => [status, response]),
  )
}

/** OPTIONS of a route without a key: the preflight request of a browser. */
export function renderPreflight(route: string, tag: Tag): Rendered {
  return {
    operationId: `${route}Options`,
    tags: [tag],
    summary: 'Ask whether a page may send a request',
    ...mark(true),
    security: [],
    responses: {
      204: {
        description: 'It may.',
        headers: renderHeaders([
          'Allow',
          'AllowMethods',
          'AllowHeaders',
          'MaxAge',
          ...OPEN_HEADERS,
        ]),
        ...mark(true),
      },
      default: { $ref: '#/components/responses/ServerRefusal' },
    },
  }
}

function renderResponses({ success, errors, security, ours }: Operation): Responses {
  const always = security === 'none' ? OPEN_HEADERS : []
  const responses: Record<string, Rendered> = {}
  for (const [status, entry] of Object.entries(success)) {
    responses[status] = {
      description: entry.description,
      ...mark(entry.ours ?? ours),
      headers: renderHeaders([...(entry.headers ?? []), ...always]),
      ...(entry.content && { content: renderContent(entry.content) }),
    }
  }
  for (const [status, ofStatus] of errorsOf(errors)) {
    responses[String(status)] = errorResponseOf(ofStatus, [
      ...(HEADERS_OF_STATUS[status] ?? []),
      ...always,
    ])
  }
  return { ...responses, default: { $ref: '#/components/responses/ServerRefusal' } }
}

function errorResponseOf(errors: readonly WireError[], headers: readonly HeaderName[]): Rendered {
  const refs = errors.map(errorRef)
  const [only] = refs
  const schema = refs.length === 1 && only !== undefined ? only : { oneOf: refs }
  return {
    description: `${errors.map(({ type }) => type).join(', ')}.`,
    ...mark(errors.every((error) => describe(error).ours)),
    headers: renderHeaders(headers),
    content: renderContent({ 'application/json': schema }),
  }
}

function errorRef(error: WireError): JsonSchema {
  return { $ref: `#/components/schemas/${errorName(error)}` }
}

function renderContent(content: Content): Rendered {
  return Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }]))
}

function renderHeaders(names: readonly HeaderName[]): Rendered {
  return Object.fromEntries(
    names.map((name) => [WIRE_NAMES[name] ?? name, { $ref: `#/components/headers/${name}` }]),
  )
}

/** @param codes - The codes of all operations. */
export function renderComponents(codes: readonly DocumentedCode[]): Rendered {
  const bearer = { type: 'http', scheme: 'bearer' }
  const known = errorsOf([...codes, 'METHOD_NOT_ALLOWED', 'REQUEST_ERROR', 'RATE_LIMITED'])
  const errors = new Map(
    [...known.values(), SERVER_ERRORS].flat().map((error) => [errorName(error), error]),
  )
  return {
    securitySchemes: {
      team: { ...bearer, description: 'A key of a team. Everything is seen through this team.' },
      admin: { ...bearer, description: 'A key of the operator.', ...mark(true) },
    },
    parameters: mapValues(PARAMETERS, renderParameter),
    headers: mapValues(HEADERS, renderHeader),
    responses: {
      MethodNotAllowed: refusal('METHOD_NOT_ALLOWED', []),
      OpenMethodNotAllowed: refusal('METHOD_NOT_ALLOWED', OPEN_HEADERS),
      UnknownPath: refusal('REQUEST_ERROR', []),
      RefusedClient: refusal('RATE_LIMITED', []),
      CorsPreflight: {
        description: 'The page may send a request if its origin is named.',
        ...mark(true),
        headers: renderHeaders(['Allow', 'AllowMethods', 'AllowHeaders', 'MaxAge']),
      },
      ServerRefusal: {
        description: 'The server refused the request before it reached its operation.',
        ...mark(true),
        content: renderContent({ 'application/json': { anyOf: SERVER_ERRORS.map(errorRef) } }),
      },
    },
    schemas: { ...SCHEMAS, ...mapValues(Object.fromEntries(errors), errorSchema) },
  }
}

function refusal(code: DocumentedCode, headers: readonly HeaderName[]): Rendered {
  const [rendered] = [...errorsOf([code])].map(([status, errors]) =>
    errorResponseOf(errors, [...(HEADERS_OF_STATUS[status] ?? []), ...headers]),
  )
  return rendered ?? {}
}

function renderParameter({ isList, ours, ...parameter }: ParameterEntry): Rendered {
  return { ...parameter, ...(isList && { style: 'form', explode: true }), ...mark(ours) }
}

function renderHeader({ ours, ...header }: HeaderEntry): Rendered {
  return { required: true, ...header, ...mark(ours) }
}

function mapValues<V>(
  values: Readonly<Record<string, V>>,
  render: (value: V) => Rendered,
): Rendered {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, render(value)]))
}

/** Marks an operation that the published interface does not have. */
function mark(ours: boolean | undefined): Rendered {
  return ours ? { 'x-rowstash': true } : {}
}
