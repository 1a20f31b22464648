// Paths of the contract. A path has one spelling and, if wanted, a trailing slash: empty segments, dot
// segments and percent-encoded fixed segments are unknown paths, so that no proxy in front of us can
// understand a path differently.
import { stashNameProblem } from '../engine/api/arguments.js'
import { invalidRequest, Refusal } from './refusal.js'

export type Route =
  | Readonly<{ name: 'tables' }>
  | Readonly<{ name: 'table'; tableId: string }>
  | Readonly<{ name: 'rows'; tableId: string }>
  | Readonly<{ name: 'row'; tableId: string; rowId: string }>
  | Readonly<{ name: 'stash'; stashId: string }>
  | Readonly<{ name: 'chunk'; stashId: string; serial: string }>
  | Readonly<{ name: 'uploads'; appId: string }>
  | Readonly<{ name: 'completion'; appId: string; uploadId: string }>

/** What is reached without a key. Its parts are what the path says, to the letter. */
export type OpenRoute =
  | Readonly<{ name: 'upload'; uploadId: string }>
  | Readonly<{ name: 'file'; fileId: string }>

/**
 * A path that needs no key; undefined for all others. Everything below `/uploads/` is taken for the ID of
 * an upload, so that an odd path is refused as a wrong signature is. The name in `/files/{fileID}/{name}`
 * is for people and programs that look at URLs: any is good.
 */
export function matchOpenRoute(path: string): OpenRoute | undefined {
  if (path.startsWith(UPLOADS) && path.length > UPLOADS.length) {
    return { name: 'upload', uploadId: path.slice(UPLOADS.length) }
  }
  const [, fileId] = /^\/files\/([^/]+)(?:\/(?:[^/]+\/?)?)?$/.exec(path) ?? []
  return fileId === undefined ? undefined : { name: 'file', fileId }
}

const UPLOADS = '/uploads/'

/** The longest path is `/apps/{appID}/uploads/{uploadID}/complete`. */
const SEGMENTS_MAX = 5

/** @throws {Refusal} REQUEST_ERROR for an unknown path, REQUEST_VALIDATION_ERROR for a bad parameter. */
export function matchRoute(path: string): Route {
  const route = routeOf(segmentsOf(path))
  if (route === undefined) throw new Refusal('REQUEST_ERROR', 'Unknown path')
  return route
}

function routeOf(segments: readonly string[]): Route | undefined {
  const [collection, id = '', part, last = ''] = segments
  if (collection === 'tables') {
    if (segments.length === 1) return { name: 'tables' }
    if (segments.length === 2) return { name: 'table', tableId: decodeId(id) }
    if (part !== 'rows') return undefined
    if (segments.length === 3) return { name: 'rows', tableId: decodeId(id) }
    if (segments.length !== 4) return undefined
    return { name: 'row', tableId: decodeId(id), rowId: decodeId(last) }
  }
  if (collection === 'stashes') {
    if (segments.length === 2) return { name: 'stash', stashId: decodeStashId(id) }
    if (segments.length !== 3 || part === undefined) return undefined
    return { name: 'chunk', stashId: decodeStashId(id), serial: decodeSerial(part) }
  }
  return collection === 'apps' ? appRouteOf(segments) : undefined
}

/** /apps/{appID}/uploads and /apps/{appID}/uploads/{uploadID}/complete */
function appRouteOf(segments: readonly string[]): Route | undefined {
  const [, appId = '', part, uploadId = '', last] = segments
  if (part !== 'uploads') return undefined
  if (segments.length === 3) return { name: 'uploads', appId: decodeId(appId) }
  if (segments.length !== 5 || last !== 'complete') return undefined
  return { name: 'completion', appId: decodeId(appId), uploadId: decodeId(uploadId) }
}

/** The segments, or none for a path that no client of ours would write. */
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

function decodeStashId(segment: string): string {
  return decodeStashName('Stash ID', segment)
}

function decodeSerial(segment: string): string {
  return decodeStashName('Serial', segment)
}

function decodeStashName(what: 'Stash ID' | 'Serial', segment: string): string {
  const name = decodeId(segment)
  const problem = stashNameProblem(what, name)
  if (problem !== undefined) throw invalidRequest('params', problem)
  return name
}
