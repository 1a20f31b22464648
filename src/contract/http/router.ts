// Paths of the contract. A path has one spelling, with an optional trailing slash: a path with empty segments, dot
// segments or percent-encoded fixed segments is unknown, so that no proxy in front of the server can interpret it
// differently.
import { stashNameProblem } from '../../engine/arguments/arguments.js'
import { invalidRequest, Refusal } from './refusal.js'

/** A route: method, path and handler. Parameters of the path are in braces, each a whole segment. */
export type Route<O> = readonly [method: string, path: string, operation: O]

/** The result of matching a path. */
export type Match<O> = Readonly<{
  /** The path as in the routes. */
  path: string
  methods: ReadonlyMap<string, O>
  /** The decoded parameters, in path order. */
  parameters: readonly string[]
}>

/**
 * @param method - If a path matches several resources, the first with this method is used: `import` in `/tables/import`
 *   is a table ID for every method except POST.
 * @throws {Refusal} REQUEST_ERROR for an unknown path, REQUEST_VALIDATION_ERROR for a bad parameter.
 */
export type Router<O> = (path: string, method?: string) => Match<O>

/** Maximum number of segments. The longest path is `/apps/{appID}/uploads/{uploadID}/complete`. */
const SEGMENTS_MAX = 5

type Resource<O> = Readonly<{
  path: string
  /** Fixed text, or the reader of a parameter. */
  segments: readonly (string | ReadParameter)[]
  methods: Map<string, O>
}>

type ReadParameter = (segment: string) => string

export function createRouter<O>(routes: readonly Route<O>[]): Router<O> {
  const resources = resourcesOf(routes)
  return (path, method = '') => {
    const given = segmentsOf(path)
    const found = resources.filter(({ segments }) => isOn(segments, given))
    const resource = found.find(({ methods }) => methods.has(method)) ?? found[0]
    if (resource === undefined) throw new Refusal('REQUEST_ERROR', 'Unknown path')
    const parameters: string[] = []
    for (const [index, segment] of resource.segments.entries()) {
      if (typeof segment !== 'string') parameters.push(segment(given[index] ?? ''))
    }
    const methods = resource.methods.has(method) ? resource.methods : methodsOf(found)
    return { path: resource.path, methods, parameters }
  }
}

/** Whether a path belongs to one of the routes, with any method and parameters. */
export function createPathTest(routes: readonly Route<unknown>[]): (path: string) => boolean {
  const resources = resourcesOf(routes)
  return (path) => {
    const given = segmentsOf(path)
    return resources.some(({ segments }) => isOn(segments, given))
  }
}

/** The methods of all resources that a path matches. */
function methodsOf<O>(found: readonly Resource<O>[]): ReadonlyMap<string, O> {
  return new Map(found.flatMap(({ methods }) => [...methods]))
}

function resourcesOf<O>(routes: readonly Route<O>[]): readonly Resource<O>[] {
  const resources = new Map<string, Resource<O>>()
  for (const [method, path, operation] of routes) {
    const segments = path.slice(1).split('/').map(segmentOf)
    const resource = resources.get(path) ?? { path, segments, methods: new Map<string, O>() }
    resource.methods.set(method, operation)
    resources.set(path, resource)
  }
  for (const { methods } of resources.values()) {
    const get = methods.get('GET')
    if (get !== undefined && !methods.has('HEAD')) methods.set('HEAD', get)
  }
  return [...resources.values()]
}

function segmentOf(text: string): string | ReadParameter {
  switch (text) {
    case '{stashID}':
      return (segment) => decodeStashName('Stash ID', segment)
    case '{serial}':
      return (segment) => decodeStashName('Serial', segment)
    default:
      return text.startsWith('{') ? decodeId : text
  }
}

function isOn(segments: readonly (string | ReadParameter)[], given: readonly string[]): boolean {
  if (segments.length !== given.length) return false
  return segments.every((segment, index) => typeof segment !== 'string' || segment === given[index])
}

/** The segments of a path; an empty list if the path is not spelled as required. */
function segmentsOf(path: string): readonly string[] {
  const [root, ...segments] = path.split('/', SEGMENTS_MAX + 3)
  if (root !== '') return []
  if (segments.length > 1 && segments.at(-1) === '') segments.pop()
  if (segments.length > SEGMENTS_MAX) return []
  const odd = segments.some((segment) => /^(?:\.|%2e){0,2}$/i.test(segment))
  return odd ? [] : segments
}

function decodeId(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw invalidRequest('params', 'the path has invalid percent-encoding')
  }
}

function decodeStashName(what: 'Stash ID' | 'Serial', segment: string): string {
  const name = decodeId(segment)
  const problem = stashNameProblem(what, name)
  if (problem !== undefined) throw invalidRequest('params', problem)
  return name
}

/** What a probe asks. `health`: whether the process is alive. `ready`: whether the store accepts changes. */
export type Probe = 'health' | 'ready'

/** A route that needs no key and is open to all origins. Its parameters are texts of the path, not decoded. */
export type OpenRoute =
  | Readonly<{ name: 'upload'; uploadId: string }>
  | Readonly<{ name: 'file'; fileId: string }>
  | Readonly<{ name: 'document' }>
  | Readonly<{ name: 'health' }>
  | Readonly<{ name: 'ready' }>

/** Paths and methods of the routes without a key. */
export const OPEN_ROUTES = {
  upload: { path: '/uploads/{uploadID}', methods: ['PUT', 'OPTIONS'] },
  file: { path: '/files/{fileID}/{fileName}', methods: ['GET', 'HEAD', 'OPTIONS'] },
  document: { path: '/openapi.json', methods: ['GET', 'HEAD', 'OPTIONS'] },
  health: { path: '/healthz', methods: ['GET', 'HEAD', 'OPTIONS'] },
  ready: { path: '/readyz', methods: ['GET', 'HEAD', 'OPTIONS'] },
} as const satisfies Readonly<
  Record<OpenRoute['name'], Readonly<{ path: string; methods: readonly string[] }>>
>

/** The routes of the operator; see admin.ts. */
export const ADMIN_ROUTES = [
  ['POST', '/admin/verify'],
  ['POST', '/admin/backup'],
  ['GET', '/admin/keys'],
  ['POST', '/admin/keys'],
  ['DELETE', '/admin/keys/{keyID}'],
  ['GET', '/admin/day'],
  ['GET', '/metrics'],
] as const

type AdminRoute = (typeof ADMIN_ROUTES)[number]

export type AdminOperationName = {
  [M in AdminRoute[0]]: `${M} ${Extract<AdminRoute, readonly [M, string]>[1]}`
}[AdminRoute[0]]

/** Whether a path is under the paths of the operator. Unknown paths under them count, too. */
export function isAdminPath(path: string): boolean {
  return path.startsWith('/admin/') || path === '/metrics' || path === '/metrics/'
}

const FIXED_PATHS: ReadonlyMap<string, 'document' | Probe> = new Map(
  (['document', 'health', 'ready'] as const).map((name) => [OPEN_ROUTES[name].path, name]),
)

const UPLOADS = '/uploads/'

/**
 * The route of a path that needs no key; undefined for all other paths. Everything after `/uploads/` counts as an
 * upload ID, so that an odd path is refused like a wrong signature. The name in `/files/{fileID}/{name}` is only for
 * people who read the URL: any name is valid.
 *
 * @param probes - Whether probes are included.
 */
export function matchOpenRoute(path: string, probes = true): OpenRoute | undefined {
  const name = FIXED_PATHS.get(path.endsWith('/') ? path.slice(0, -1) : path)
  if (name !== undefined) return probes || name === 'document' ? { name } : undefined
  if (path.startsWith(UPLOADS) && path.length > UPLOADS.length) {
    return { name: 'upload', uploadId: path.slice(UPLOADS.length) }
  }
  const [, fileId] = /^\/files\/([^/]+)(?:\/(?:[^/]+\/?)?)?$/.exec(path) ?? []
  return fileId === undefined ? undefined : { name: 'file', fileId }
}
