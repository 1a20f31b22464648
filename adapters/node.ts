export type { NodeHandler, NodeHandlerOptions } from './node-http.js'
export { hardenServer, nodeHandler, serverOptions } from './node-http.js'
export { openDirectory } from './open-directory.js'
