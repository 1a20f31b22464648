// A tus server on a folder, set up as its README says: the peer of the bench `files`.
import { createServer } from 'node:http'
import { FileStore } from '@tus/file-store'
import { Server } from '@tus/server'

const [, , directory] = process.argv
const tus = new Server({ path: '/files', datastore: new FileStore({ directory }) })
const server = createServer((request, response) => tus.handle(request, response))
server.listen(0, '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`)
})
process.once('SIGTERM', () => process.exit(0))
