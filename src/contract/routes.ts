// The routes of a team, as CONTRACT.md, section 1, lists them. An operation gets the parameters of its path in their
// order. HEAD is answered as GET where it has no route of its own.
import type { Operation } from './call.js'
import { importTable } from './imports.js'
import { readJob } from './jobs.js'
import type { Route } from './router.js'
import { addRows, deleteRow, headRows, listRows, readRow, updateRow } from './rows.js'
import { deleteStash, putChunk } from './stashes.js'
import { createTable, listTables, overwriteTable } from './tables.js'
import { completeUpload, createUpload } from './uploads.js'

export const ROUTES = [
  ['GET', '/tables', listTables],
  ['POST', '/tables', createTable],
  ['PUT', '/tables/{tableID}', overwriteTable],
  ['POST', '/tables/import', importTable],
  ['GET', '/tables/{tableID}/rows', listRows],
  ['HEAD', '/tables/{tableID}/rows', headRows],
  ['POST', '/tables/{tableID}/rows', addRows],
  ['GET', '/tables/{tableID}/rows/{rowID}', readRow],
  ['PATCH', '/tables/{tableID}/rows/{rowID}', updateRow],
  ['DELETE', '/tables/{tableID}/rows/{rowID}', deleteRow],
  ['PUT', '/stashes/{stashID}/{serial}', putChunk],
  ['DELETE', '/stashes/{stashID}', deleteStash],
  ['GET', '/jobs/{jobID}', readJob],
  ['POST', '/apps/{appID}/uploads', createUpload],
  ['POST', '/apps/{appID}/uploads/{uploadID}/complete', completeUpload],
] as const satisfies readonly Route<Operation>[]
