// A server of the tus protocol on a folder, as its README sets it up: the peer of the bench of files.
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
