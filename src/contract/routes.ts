// The routes of a team, as listed in CONTRACT.md, section 1. An operation gets its path parameters in order. HEAD is
// answered like GET unless it has its own route. Each route states the rights that it requires.

import type { Access } from './auth/caller.js'
import type { Operation } from './calls/call.js'
import {
  answerCompleteUpload,
  answerCreateUpload,
  answerListFiles,
  deleteFile,
  listUploads,
} from './files/uploads.js'
import { DIALECT_PARAMETERS } from './http/rows-query.js'
import { headChanges, listChanges } from './operations/changes.js'
import { exportTable, headExport } from './operations/exports.js'
import { answerImportTable } from './operations/imports.js'
import { answerListJobs, readJob } from './operations/jobs.js'
import { deleteRows, updateRows } from './operations/many-rows.js'
import { mergeRows } from './operations/merges.js'
import {
  answerAddRows,
  answerDeleteRow,
  countRows,
  headRows,
  listRows,
  readGroups,
  readRow,
  readRowByKey,
  updateRow,
} from './operations/rows.js'
import {
  answerDeleteStash,
  answerListChunks,
  answerListStashes,
  putChunk,
} from './operations/stashes.js'
import {
  answerAlterTable,
  answerDeleteTable,
  convertColumn,
  readTable,
} from './operations/table-life.js'
import { listTables } from './operations/table-list.js'
import { answerCreateTable, overwriteTable, readChange, readReceipt } from './operations/tables.js'

/**
 * A route of a team: method, path, required rights, and operation. A route that is not published (ours) also has the
 * names of its query parameters; others are refused.
 */
export type TeamRoute = readonly [
  method: string,
  path: string,
  access: Access,
  operation: Operation,
  own?: readonly string[],
]

const READ: Access = { scopes: ['read'], reach: 'tables', stores: false }
const WRITE: Access = { scopes: ['write'], reach: 'tables', stores: true }
const WRITE_TEAM: Access = { scopes: ['write'], reach: 'team', stores: true }
/** For routes that fill tables. With `validate=only`, they write nothing. */
const FILL: Access = { ...WRITE, stores: 'unlessChecked' }
const CREATE: Access = { ...WRITE_TEAM, stores: 'unlessChecked' }
const DELETE: Access = { ...WRITE, stores: false }
/** For changes of a table itself rather than of its rows. */
const ALTER: Access = DELETE
/** For reading and deleting stashes. */
const STASH: Access = { ...WRITE_TEAM, stores: false }
/** For lists of a whole team, among them the list of files, which has the URLs of all files. */
const READ_TEAM: Access = { ...READ, reach: 'team' }
/** A key that may start a job may also read its status. */
const READ_JOB: Access = { ...READ, scopes: ['read', 'write'] }
/** For uploads. A key that is limited to tables may upload, because files belong to no table. */
const UPLOAD: Access = { scopes: ['upload'], reach: 'tables', stores: true }
/**
 * For the completion of an upload: the bytes are already stored, and the store's own hook `quota` decides on the file.
 */
const COMPLETE: Access = { ...UPLOAD, stores: false }

const NONE: readonly string[] = []
const LIST = ['limit', 'continuation']
const CHANGES = ['since', 'limit']
const COUNT = ['where', 'search', 'searchIgnoreAccents']
const GROUPS = ['by', 'sum', 'least', 'greatest', ...COUNT, 'limit']
const EXPORT = ['format', 'bom', 'formulas', ...COUNT, 'columns', 'sort', 'at']
const UPDATE = ['onSchemaError']
const MERGE = ['key', 'mode', 'unnamed', 'onSchemaError', 'validate', ...DIALECT_PARAMETERS]

export const ROUTES = [
  ['GET', '/tables', READ, listTables],
  ['POST', '/tables', CREATE, answerCreateTable],
  ['PUT', '/tables/{tableID}', FILL, overwriteTable],
  ['GET', '/tables/{tableID}', READ, readTable, NONE],
  ['PATCH', '/tables/{tableID}', ALTER, answerAlterTable, NONE],
  ['DELETE', '/tables/{tableID}', DELETE, answerDeleteTable, NONE],
  ['GET', '/tables/{tableID}/receipts/{version}', READ, readReceipt, NONE],
  ['GET', '/tables/{tableID}/changes', READ, listChanges, CHANGES],
  ['HEAD', '/tables/{tableID}/changes', READ, headChanges, CHANGES],
  ['GET', '/tables/{tableID}/changes/{version}', READ, readChange, NONE],
  ['POST', '/tables/import', WRITE_TEAM, answerImportTable],
  ['GET', '/tables/{tableID}/rows', READ, listRows],
  ['HEAD', '/tables/{tableID}/rows', READ, headRows],
  ['POST', '/tables/{tableID}/rows', FILL, answerAddRows],
  ['PATCH', '/tables/{tableID}/rows', WRITE, updateRows, UPDATE],
  ['DELETE', '/tables/{tableID}/rows', DELETE, deleteRows, NONE],
  ['POST', '/tables/{tableID}/merge', FILL, mergeRows, MERGE],
  ['POST', '/tables/{tableID}/convert', FILL, convertColumn, ['validate']],
  ['GET', '/tables/{tableID}/count', READ, countRows, COUNT],
  ['GET', '/tables/{tableID}/groups', READ, readGroups, GROUPS],
  ['GET', '/tables/{tableID}/by-key', READ, readRowByKey],
  ['GET', '/tables/{tableID}/export', READ, exportTable, EXPORT],
  ['HEAD', '/tables/{tableID}/export', READ, headExport, EXPORT],
  ['GET', '/tables/{tableID}/rows/{rowID}', READ, readRow],
  ['PATCH', '/tables/{tableID}/rows/{rowID}', WRITE, updateRow],
  ['DELETE', '/tables/{tableID}/rows/{rowID}', DELETE, answerDeleteRow],
  ['PUT', '/stashes/{stashID}/{serial}', WRITE_TEAM, putChunk],
  ['GET', '/stashes', STASH, answerListStashes, NONE],
  ['GET', '/stashes/{stashID}', STASH, answerListChunks, NONE],
  ['DELETE', '/stashes/{stashID}', STASH, answerDeleteStash],
  ['GET', '/jobs', READ_JOB, answerListJobs, NONE],
  ['GET', '/jobs/{jobID}', READ_JOB, readJob],
  ['POST', '/apps/{appID}/uploads', UPLOAD, answerCreateUpload],
  ['POST', '/apps/{appID}/uploads/{uploadID}/complete', COMPLETE, answerCompleteUpload],
  ['GET', '/uploads', READ_TEAM, listUploads, NONE],
  ['GET', '/files', READ_TEAM, answerListFiles, LIST],
  ['DELETE', '/files/{fileID}', STASH, deleteFile, NONE],
] as const satisfies readonly TeamRoute[]
