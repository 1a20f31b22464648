import { fetchHandler } from 'rowstash'
import { openDirectory } from 'rowstash/node'

const keys = [{ key: process.env.API_KEY ?? '', teamId: 'default' }]
const open = async () => fetchHandler(await openDirectory('./data'), { keys, basePath: '/api' })
async function answer(request) {
  globalThis.rowstash ??= open() // A reload loads this file again; the directory is opened once.
  globalThis.rowstash.catch(() => delete globalThis.rowstash) // If it fails, the next request tries again.
  return (await globalThis.rowstash)(request)
}

export {
  answer as DELETE,
  answer as GET,
  answer as HEAD,
  answer as PATCH,
  answer as POST,
  answer as PUT,
}
