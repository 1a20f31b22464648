import express from 'express' // 4 or 5
import { nodeHandler, openDirectory } from 'rowstash/node'

const store = await openDirectory('./data')
const keys = [{ key: process.env.API_KEY ?? '', teamId: 'default' }]
const app = express()
app.use('/api', nodeHandler(store, { keys })) // before body parsers
app.use(express.json())
app.get('/', (_request, response) => response.send('my page'))
const port = Number(process.env.PORT ?? 3000)
const server = app.listen(port, '127.0.0.1')
server.once('listening', () => console.log(`listening on http://127.0.0.1:${port}/api`))
process.once('SIGTERM', () => server.close(() => store.close()))
