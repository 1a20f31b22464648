import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { fetchHandler } from 'rowstash'
import { openDirectory } from 'rowstash/node'

const store = await openDirectory('./data')
const keys = [{ key: process.env.API_KEY ?? '', teamId: 'default' }]
const handler = fetchHandler(store, { keys, basePath: '/api' })
const app = new Hono()
app.all('/api/*', (context) => handler(context.req.raw))
app.get('/', (context) => context.text('my page'))
const port = Number(process.env.PORT ?? 3000)
const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, () => {
  console.log(`listening on http://127.0.0.1:${port}/api`)
})
process.once('SIGTERM', () => server.close(() => store.close()))
