// Two sites on two origins: a shop with pages, and the files. Both serve the same stored files in several mounts: as
// the store serves them, with only one of its protections, and with none.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { nodeHandler } from '../../adapters/http/node-http.js'
import type { Store, StoredFile } from '../../src/index.js'
import { HOSTILE_FILES, type HostileFile } from './hostile-files.js'
import { shopPage } from './shop-page.js'

const KEY = 'the-key-of-the-shop'
const TEAM = 'shop'

const DISPOSITION = 'content-disposition'
const POLICY = 'content-security-policy'
const NOSNIFF = 'x-content-type-options'

/** Headers that a mount removes from the store's answers; null: another server, without any of them. */
const MOUNTS = {
  stored: [],
  'download-only': [POLICY, NOSNIFF],
  'sandbox-only': [DISPOSITION, NOSNIFF],
  'nosniff-only': [DISPOSITION, POLICY],
  bare: null,
} as const satisfies Record<string, readonly string[] | null>

export type Mount = keyof typeof MOUNTS

export type SiteName = 'shop' | 'files'

/** An act of a file. `way` is empty where a browser does not tell it. */
export type Canary = Readonly<{
  site: SiteName
  mount: string
  fileName: string
  way: string
  by: string
}>

export type Asked = Readonly<{ method: string; url: string; headers: IncomingMessage['headers'] }>

export type Sites = Readonly<{
  /** The URL of a site, without a slash at the end. */
  urls: Readonly<Record<SiteName, string>>
  canaries: Canary[]
  /** Requests of browsers to the site of the files, with their answers. */
  asked: Readonly<Record<SiteName, Asked[]>>
  urlOf(site: SiteName, mount: Mount, file: HostileFile, way: string): string
  close(): Promise<void>
}>

type Listener = (request: IncomingMessage, response: ServerResponse) => void

export async function openSites(store: Store): Promise<Sites> {
  const team = store.team(TEAM)
  const stored = new Map<string, StoredFile>()
  for (const { fileName, contentType, bytes } of HOSTILE_FILES) {
    stored.set(fileName, await team.files.put(bytes, { fileName, contentType }))
  }

  const canaries: Canary[] = []
  const asked: Record<SiteName, Asked[]> = { shop: [], files: [] }
  const servers: Record<SiteName, ReturnType<typeof createServer>> = {
    shop: createServer((request, response) => answer('shop', request, response)),
    files: createServer((request, response) => answer('files', request, response)),
  }
  const urls = { shop: await listen('shop'), files: await listen('files') }
  const toFiles = urls.files.replace('files.localhost', '127.0.0.1')
  const pages = shopPage({ api: `${toFiles}/stored`, key: KEY })

  /** Browsers resolve every name below `localhost` to this machine, and treat each as a separate site. */
  async function listen(site: SiteName): Promise<string> {
    await new Promise<void>((listening) => servers[site].listen(0, '127.0.0.1', listening))
    return `http://${site}.localhost:${(servers[site].address() as AddressInfo).port}`
  }

  const listeners = new Map<string, Listener>()
  function listenerOf(site: SiteName, mount: string): Listener | undefined {
    const kept = listeners.get(`${site}/${mount}`)
    if (kept !== undefined || !isMount(mount)) return kept
    const made = mountListener(store, mount, `${urls[site]}/${mount}`)
    listeners.set(`${site}/${mount}`, made)
    return made
  }

  function answer(site: SiteName, request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', headers } = request
    response.on('close', () => asked[site].push({ method, url, headers }))
    const [, mount = '', part = ''] = new URL(url, urls[site]).pathname.split('/')
    if (part === 'canary') {
      canaries.push({ site, mount, ...readCanary(request) })
      response.writeHead(204).end()
      return
    }
    const listener = listenerOf(site, mount) ?? (site === 'shop' ? pages : notFound)
    listener(request, response)
  }

  return {
    urls,
    canaries,
    asked,
    urlOf(site, mount, { fileName }, way) {
      // Without the file's name: browsers guess types by names too, and would not request some files at all.
      return `${urls[site]}/${mount}/files/${stored.get(fileName)?.id}/x?file=${fileName}&way=${way}`
    },
    async close() {
      for (const server of Object.values(servers)) {
        server.closeAllConnections()
        await new Promise((closed) => server.close(closed))
      }
    },
  }
}

function isMount(mount: string): mount is Mount {
  return Object.hasOwn(MOUNTS, mount)
}

function mountListener(store: Store, mount: Mount, baseUrl: string): Listener {
  const removed = MOUNTS[mount]
  if (removed === null) return bareListener()
  const handler = nodeHandler(store, {
    keys: [{ key: KEY, teamId: TEAM }],
    basePath: `/${mount}`,
    baseUrl,
  })
  return (request, response) => handler(request, withoutHeaders(response, removed))
}

function withoutHeaders(response: ServerResponse, removed: readonly string[]): ServerResponse {
  const writeHead = response.writeHead.bind(response)
  return Object.assign(response, {
    writeHead(status: number, headers: Readonly<Record<string, string | number>>) {
      const kept = Object.entries(headers).filter(([name]) => !removed.includes(name.toLowerCase()))
      return writeHead(status, Object.fromEntries(kept))
    },
  })
}

/** Serves the same files as a plain web server would. */
function bareListener(): Listener {
  return ({ url = '' }, response) => {
    const { fileName } = fileAt(new URL(url, 'http://x.localhost'))
    const file = HOSTILE_FILES.find((known) => known.fileName === fileName)
    if (file === undefined) return notFound({ url }, response)
    response.writeHead(200, { 'content-type': file.contentType }).end(file.bytes)
  }
}

function notFound(_request: unknown, response: ServerResponse): void {
  response.writeHead(404).end()
}

/** The file that a URL names, and the way in which it was loaded. */
export function fileAt({ searchParams }: URL): { fileName: string; way: string } {
  return { fileName: searchParams.get('file') ?? '', way: searchParams.get('way') ?? '' }
}

/** A script tells its own URL. Otherwise the browser tells the page or style sheet that sent the request. */
function readCanary({ url = '', headers }: IncomingMessage): Omit<Canary, 'site' | 'mount'> {
  const {
    by = '',
    at,
    file = '',
  } = Object.fromEntries(
    (url.split('?')[1] ?? '').split(';').map((pair) => pair.split('=')),
  ) as Partial<Record<string, string>>
  if (at !== undefined) return { by, ...fileAt(new URL(decodeURIComponent(at))) }
  const { referer } = headers
  return { by, way: referer === undefined ? '' : fileAt(new URL(referer)).way, fileName: file }
}
