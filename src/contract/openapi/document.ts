// The OpenAPI 3.1 document of the contract. Paths, methods, statuses and error types follow from the routes and from
// error-response.ts: a route without an entry does not compile.
import { type AdminOperationName, OPEN_ROUTES } from '../router.js'
import type { ROUTES } from '../routes.js'
import type { Operation } from './bodies.js'
import { JOB_OPERATIONS } from './job-operations.js'
import type { Tag } from './model.js'
import { OWN_OPERATIONS } from './own-operations.js'
import { PATH_PARAMETERS } from './parameters.js'
import {
  type Rendered,
  renderComponents,
  renderCors,
  renderHead,
  renderOperation,
  renderPreflight,
} from './render-operation.js'
import { ROW_OPERATIONS } from './row-operations.js'
import { STASH_OPERATIONS } from './stash-operations.js'
import { TABLE_OPERATIONS } from './table-operations.js'
import { UPLOAD_OPERATIONS } from './upload-operations.js'

type OpenRoutes = typeof OPEN_ROUTES

/** HEAD and OPTIONS of a path may follow from its GET and its methods. */
type Derived = `HEAD ${OpenRoutes['document' | 'health' | 'ready']['path']}` | `OPTIONS ${string}`

type OperationName =
  | {
      [N in keyof typeof ROUTES & `${number}`]: `${(typeof ROUTES)[N][0]} ${(typeof ROUTES)[N][1]}`
    }[keyof typeof ROUTES & `${number}`]
  | {
      [N in keyof OpenRoutes]: `${OpenRoutes[N]['methods'][number]} ${OpenRoutes[N]['path']}`
    }[keyof OpenRoutes]
  | AdminOperationName

const OPERATIONS: Readonly<Record<Exclude<OperationName, Derived>, Operation>> = {
  ...TABLE_OPERATIONS,
  ...ROW_OPERATIONS,
  ...STASH_OPERATIONS,
  ...JOB_OPERATIONS,
  ...UPLOAD_OPERATIONS,
  ...OWN_OPERATIONS,
}

const DESCRIPTION =
  'Tables of typed rows, stashes for large imports, and files. This is the Big Tables API, version 2; what is marked ' +
  'x-rowstash is not part of the published interface. A success has its data under data. Unknown query parameters and ' +
  'headers are ignored, unknown properties of request objects are refused. HEAD is answered like GET on every path ' +
  'that has a GET. A server may let pages of other origins use the operations with a key (CORS). The message of an error is for people; its type is not going to change.'

const TAGS: readonly Tag[] = [
  'Tables',
  'Rows',
  'Stashes',
  'Jobs',
  'Uploads',
  'Files',
  'Administration',
  'Document',
]

/** The document as a plain object. */
export function openApiDocument(): Rendered {
  return {
    openapi: '3.1.1',
    info: {
      title: 'rowstash',
      version: '2',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: '.', description: 'The place of this document.' }],
    tags: TAGS.map((name) => ({ name })),
    paths: Object.fromEntries(pathsOf().map((path) => [path, renderPath(path)])),
    components: renderComponents(Object.values(OPERATIONS).flatMap(({ errors }) => errors)),
    'x-rowstash-cors': renderCors(),
    'x-rowstash-unknown-path': { $ref: '#/components/responses/UnknownPath' },
    'x-rowstash-refused-client': { $ref: '#/components/responses/RefusedClient' },
  }
}

/** The document as it is served and shipped: for programs, so without indentation. */
export function openApiJson(): string {
  return `${JSON.stringify(openApiDocument())}\n`
}

function pathsOf(): readonly string[] {
  return [...new Set(Object.keys(OPERATIONS).map((name) => name.slice(name.indexOf(' ') + 1)))]
}

function renderPath(path: string): Rendered {
  const parameters = parametersOf(path)
  const open = Object.entries(OPEN_ROUTES).find(([, route]) => route.path === path)
  const refusal = open === undefined ? 'MethodNotAllowed' : 'OpenMethodNotAllowed'
  return {
    ...(parameters.length > 0 && { parameters }),
    ...operationsOf(path, open?.[0]),
    'x-rowstash-other-methods': { $ref: `#/components/responses/${refusal}` },
  }
}

/** @param openRoute - Name of the route, if it is one without a key. */
function operationsOf(path: string, openRoute: string | undefined): Rendered {
  const entries = Object.entries(OPERATIONS)
    .map(([name, operation]) => [...name.split(' '), operation] as [string, string, Operation])
    .filter(([, of]) => of === path)
  const entryOf = (wanted: string) => entries.find(([method]) => method === wanted)?.[2]
  const [get, head, first] = [entryOf('GET'), entryOf('HEAD'), entries[0]?.[2]]
  return {
    ...Object.fromEntries(
      entries.map(([method, , operation]) => [
        method.toLowerCase(),
        renderOperation(method, operation),
      ]),
    ),
    ...(get && !head && { head: renderHead(get) }),
    ...(openRoute && first && { options: renderPreflight(openRoute, first.tag) }),
  }
}

function parametersOf(path: string): readonly Rendered[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    ...PATH_PARAMETERS[name],
  }))
}
