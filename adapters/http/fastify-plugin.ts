// The contract as a plugin of Fastify, which parses bodies and answers paths that nobody has before any handler does.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Store } from '../../src/index.js'
import { checkOptionNames } from '../base/arguments.js'
import { type NodeHandlerOptions, nodeHandler } from './node-http.js'

/** Options of `fastifyPlugin`: those of `nodeHandler`, whose base path is the prefix that the plugin is registered with. */
export type FastifyPluginOptions = Omit<NodeHandlerOptions, 'basePath'>

type FastifyRequest = Readonly<{ raw: IncomingMessage; headers: IncomingHttpHeaders }>
type FastifyReply = Readonly<{ raw: ServerResponse; hijack(): void; callNotFound(): void }>

/** What the plugin uses of an instance of Fastify. */
export interface FastifyScope {
  readonly prefix: string
  removeAllContentTypeParsers(): void
  addContentTypeParser(
    type: '*',
    parser: (request: unknown, body: unknown, done: (failure: null) => void) => void,
  ): void
  all(path: '/*', handler: (request: FastifyRequest, reply: FastifyReply) => void): void
}

/**
 * Serves a store in Fastify 5: `app.register(fastifyPlugin(store, options), { prefix: '/api' })`. Bodies are streamed, and
 * the parsers and limits of the host stay those of its own routes. A path that is not of the contract gets the host's
 * answer for a path that it does not have.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 * @example
 * import { fastify } from 'fastify'
 * import { fastifyPlugin } from 'rowstash/node'
 *
 * const app = fastify()
 * await app.register(fastifyPlugin(store, { keys: [{ key: 'a-long-random-text', teamId: 'acme' }] }), { prefix: '/api' })
 * console.log((await app.inject('/api/healthz')).statusCode) // 200
 * await app.close()
 */
export function fastifyPlugin(
  store: Store,
  options: FastifyPluginOptions,
): (scope: FastifyScope) => Promise<void> {
  checkOptionNames('fastifyPlugin', options ?? {}, (name) => name !== 'basePath')
  return async (scope) => {
    const handler = nodeHandler(store, { ...options, basePath: scope.prefix || undefined })
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _body, done) => done(null))
    scope.all('/*', (request, reply) => {
      let isOurs = true
      const next = (): void => {
        isOurs = false
      }
      Object.assign(request.raw.headers, request.headers) // Fastify keeps headers that a hook replaces elsewhere.
      handler(request.raw, reply.raw, next, request)
      if (isOurs) reply.hijack()
      else reply.callNotFound()
    })
  }
}
