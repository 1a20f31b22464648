import process from 'node:process'
import { fetchHandler } from 'rowstash'
import { openDirectory } from 'rowstash/node'

const store = await openDirectory('./data')
const keys = [{ key: process.env.API_KEY ?? '', teamId: 'default' }]
const handler = fetchHandler(store, { keys, basePath: '/api' })
const port = Number(process.env.PORT ?? 3000)
const server = Deno.serve({ port, hostname: '127.0.0.1' }, (request) => {
  const isPage = new URL(request.url).pathname === '/'
  return isPage ? new Response('my page') : handler(request)
})
process.once('SIGTERM', () => server.shutdown().then(() => store.close()))
