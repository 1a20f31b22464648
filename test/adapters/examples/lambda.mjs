import { Hono } from 'hono'
import { handle } from 'hono/aws-lambda'
import { fetchHandler, openStore } from 'rowstash'
import { openPostgresKv, openPostgresObjects } from 'rowstash/postgres'

const urls = [process.env.ROWSTASH_POSTGRES ?? '']
const store = await openStore({
  kv: await openPostgresKv({ urls }),
  objects: await openPostgresObjects({ urls }), // for larger stores: openS3Objects of rowstash/s3
})
const keys = [{ key: process.env.API_KEY ?? '', teamId: 'default' }]
const answer = fetchHandler(store, { keys, basePath: '/api' })
const app = new Hono()
app.all('/api/*', (context) => answer(context.req.raw))
app.get('/', (context) => context.text('my page'))
export const handler = handle(app)
