import Koa from 'koa'
import { nodeHandler, openDirectory } from 'rowstash/node'

const store = await openDirectory('./data')
const keys = [{ key: process.env.API_KEY ?? '', teamId: 'default' }]
const handler = nodeHandler(store, { keys, basePath: '/api' })
const app = new Koa()
app.use((context, next) => {
  let isMine = false
  handler(context.req, context.res, () => {
    isMine = true
  })
  if (isMine) return next()
  context.respond = false
})
app.use((context) => {
  context.body = 'my page'
})
const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
process.once('SIGTERM', () => server.close(() => store.close()))
