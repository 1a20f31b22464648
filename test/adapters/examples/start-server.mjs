import { openDirectory, startServer } from 'rowstash/node'

const store = await openDirectory('./data')
const keys = [{ key: process.env.API_KEY ?? '', teamId: 'default' }]
const port = Number(process.env.PORT ?? 3000)
const server = await startServer(store, { keys, basePath: '/api', port })
console.log(`listening on ${server.url}`)
process.once('SIGTERM', () => server.close().then(() => store.close()))
