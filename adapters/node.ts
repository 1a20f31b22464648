/**
 * For Node: a store in a directory, servers, backups in files.
 * @module rowstash/node
 */

export type { RequestMessage } from './base/diagnostics.js'
export { publishEvent } from './base/diagnostics.js'
export { backupToFile } from './directory/backup-file.js'
export type { DirectoryPortOptions } from './directory/directory.js'
export type { RestoreOptions } from './directory/restore-directory.js'
export { restoreDirectory } from './directory/restore-directory.js'
export type { ConnectionLimits } from './http/connections.js'
export { closeServer } from './http/connections.js'
export type { FastifyPluginOptions, FastifyScope } from './http/fastify-plugin.js'
export { fastifyPlugin } from './http/fastify-plugin.js'
export type { NodeHandler, NodeHandlerOptions } from './http/node-http.js'
export { hardenServer, nodeHandler, serverOptions } from './http/node-http.js'
export type { StartedServer, StartServerOptions } from './http/start-server.js'
export { startServer } from './http/start-server.js'
export type { DirectoryOptions } from './open-directory.js'
export { openDirectory } from './open-directory.js'
export { loadParquet } from './parquet/load-parquet.js'
export { nodeSources } from './sources/source-fetch.js'
export type { SourceLookup, SourceOptions } from './sources/source-options.js'
