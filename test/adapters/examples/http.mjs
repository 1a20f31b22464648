import { createServer } from 'node:http'
import { closeServer, hardenServer, nodeHandler, openDirectory, serverOptions } from 'rowstash/node'

const store = await openDirectory('./data')
const keys = [{ key: process.env.API_KEY ?? '', teamId: 'default' }]
const handler = nodeHandler(store, { keys, basePath: '/api' })
const server = createServer(serverOptions, (request, response) => {
  handler(request, response, () => response.end('my page'))
})
hardenServer(server)
const port = Number(process.env.PORT ?? 3000)
server.listen(port, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${port}/api`))
process.once('SIGTERM', () => closeServer(server).then(() => store.close()))
