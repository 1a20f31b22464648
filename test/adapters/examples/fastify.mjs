import fastify from 'fastify'
import { fastifyPlugin, openDirectory } from 'rowstash/node'

const store = await openDirectory('./data')
const keys = [{ key: process.env.API_KEY ?? '', teamId: 'default' }]
const app = fastify()
await app.register(fastifyPlugin(store, { keys }), { prefix: '/api' })
app.get('/', () => 'my page')
const url = await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
console.log(`listening on ${url}/api`)
process.once('SIGTERM', () => app.close().then(() => store.close()))
