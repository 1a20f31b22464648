import { fetchHandler } from 'rowstash'
import { openDirectory } from 'rowstash/node'

const store = await openDirectory('./data')
const keys = [{ key: process.env.API_KEY ?? '', teamId: 'default' }]
const handler = fetchHandler(store, { keys, basePath: '/api' })
const server = Bun.serve({
  routes: { '/': new Response('my page') },
  fetch: handler,
  hostname: '127.0.0.1',
  port: Number(process.env.PORT ?? 3000),
})
process.once('SIGTERM', () => server.stop().then(() => store.close()))
