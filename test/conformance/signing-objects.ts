// An ObjectStore that signs URLs itself, like one in front of S3: objects in memory, and an HTTP server that accepts
// puts at signed URLs.
import { createHmac, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { memoryObjects } from '../../src/index.js'
import type { ObjectStore } from '../../src/ports.js'

export async function openSigningObjects(): Promise<ObjectStore> {
  const objects = memoryObjects()
  const secret = randomBytes(32)
  const sign = (id: string) => createHmac('sha256', secret).update(id).digest('hex')
  const take = async (request: IncomingMessage): Promise<number> => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    const id = pathname.slice(1)
    if (request.method !== 'PUT' || searchParams.get('signature') !== sign(id)) return 403
    await objects.delete([id])
    await objects.put(id, request)
    return 200
  }
  const server = createServer((request, response) => {
    take(request).then(
      (status) => response.writeHead(status).end(),
      () => response.destroy(),
    )
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    put: (id, content) => objects.put(id, content),
    get: (id, range) => objects.get(id, range),
    stream: (id, range) => objects.stream(id, range),
    delete: (ids) => objects.delete(ids),
    list: (prefix, after) => objects.list(prefix, after),
    presignPut: async (id) => `http://127.0.0.1:${port}/${id}?signature=${sign(id)}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await objects.close()
    },
  }
}
