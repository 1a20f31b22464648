// The contract as a plugin for Fastify, which parses bodies and answers unknown paths before any handler.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Store } from '../../src/index.js'
import { checkOptionNames } from '../base/arguments.js'
import { type NodeHandlerOptions, nodeHandler } from './node-http.js'

/** Options of `fastifyPlugin`: those of `nodeHandler`, whose base path is the prefix that the plugin is registered with. */
export type FastifyPluginOptions = Omit<NodeHandlerOptions, 'basePath'>

type FastifyRequest = Readonly<{ raw: IncomingMessage; headers: IncomingHttpHeaders }>
type FastifyReply = Readonly<{ raw: ServerResponse; hijack(): void; callNotFound(): void }>

/** The used members of a Fastify instance. */
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
 * Serves a store in Fastify 5: `app.register(fastifyPlugin(store, options), { prefix: '/api' })`. Bodies are streamed;
 * parsers and limits of the host still apply to its own routes. Unknown paths get the host's answer for them.
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
      Object.assign(request.raw.headers, request.headers) // Fastify stores headers replaced by a hook elsewhere.
      handler(request.raw, reply.raw, next, request)
      if (isOurs) reply.hijack()
      else reply.callNotFound()
    })
  }
}
