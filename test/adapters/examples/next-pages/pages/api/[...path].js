import { nodeHandler, openDirectory } from 'rowstash/node'

async function open() {
  const keys = [{ key: process.env.API_KEY ?? '', teamId: 'default' }]
  return nodeHandler(await openDirectory('./data'), { keys, basePath: '/api' })
}
async function answer(request, response) {
  globalThis.rowstash ??= open() // A reload loads this file again; the directory is opened once.
  globalThis.rowstash.catch(() => delete globalThis.rowstash) // If it fails, the next request tries again.
  return (await globalThis.rowstash)(request, response)
}

export const config = { api: { bodyParser: false, externalResolver: true } }
export default answer
