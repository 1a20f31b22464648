import { CATALOG_RANGE, teamEntryKey } from '../format/keys.js'
import { decodeCatalogEntry, EMPTY_RECORD } from '../format/records.js'
import { renderTableId } from '../format/table-id.js'
import { scanBatches } from '../kv/scan-batches.js'
import { parseTableSchema } from '../schema/table-schema.js'
import {
  checkArguments,
  checkOnSchemaError,
  checkRowsFormat,
  checkTableName,
  checkTeamId,
  checkText,
} from './api/arguments.js'
import type { Files } from './api/file-types.js'
import type {
  CreateResult,
  CreateTableRequest,
  ImportTableRequest,
  Stash,
  Table,
  TableEntry,
  Team,
} from './api/store-types.js'
import { toPublicVersion } from './context/public-versions.js'
import type { StoreContext, TeamContext } from './context/store-context.js'
import { TeamFiles } from './files/files.js'
import { TeamStash } from './ingest/stash.js'
import { createTable, findCreated } from './table/create-table.js'
import { importTable } from './table/import-table.js'
import { requestKeyOf } from './table/request-digest.js'
import { TeamTable } from './table/table.js'

const CREATE_ARGUMENTS = [
  'name',
  'schema',
  'rows',
  'onSchemaError',
  'idempotencyKey',
  'requestDigest',
]

const IMPORT_ARGUMENTS = ['fromUrl', 'name', 'format', 'onSchemaError']

export class StoreTeam implements Team {
  readonly id: string
  readonly files: Files
  readonly #context: TeamContext

  constructor(context: StoreContext, id: string) {
    checkTeamId(id)
    this.id = id
    this.#context = {
      ...context,
      teamId: id,
      partition: context.kv.partition(id),
      ensureTeam: onceDone(() => enterTeam(context, id)),
    }
    this.files = new TeamFiles(this.#context)
  }

  createTable(request: CreateTableRequest): Promise<CreateResult> {
    return this.#context.lifecycle.run(async () => {
      checkArguments('createTable', request, CREATE_ARGUMENTS)
      const { name, rows } = request
      checkTableName(name)
      const { columnsMax } = this.#context.options
      const schema =
        request.schema === undefined ? undefined : parseTableSchema(request.schema, columnsMax)
      const onSchemaError = checkOnSchemaError(request.onSchemaError)
      const about = ['create', name, schema ?? null, onSchemaError]
      const key = await requestKeyOf(request, about, rows)
      const first = await findCreated(this.#context, key)
      const created =
        first ?? (await createTable(this.#context, { name, rows, schema, onSchemaError, key }))
      return toPublicVersion(this.#context, created)
    })
  }

  importTable(request: ImportTableRequest): Promise<CreateResult> {
    return this.#context.lifecycle.run(async () => {
      checkArguments('importTable', request, IMPORT_ARGUMENTS)
      const { name } = request
      if (name !== undefined) checkTableName(name)
      const source = {
        fromUrl: checkText('fromUrl', request.fromUrl),
        name,
        format: checkRowsFormat(request.format),
        onSchemaError: checkOnSchemaError(request.onSchemaError),
      }
      const created = await importTable(this.#context, source, () => undefined)
      return toPublicVersion(this.#context, created)
    })
  }

  tables(): Promise<readonly TableEntry[]> {
    const { lifecycle, partition } = this.#context
    return lifecycle.run(() =>
      partition.read(async (view) => {
        const tables: TableEntry[] = []
        for await (const entries of scanBatches(view, CATALOG_RANGE)) {
          for (const [, bytes] of entries) {
            const { table, name } = decodeCatalogEntry(bytes)
            tables.push({ id: renderTableId(table), name })
          }
        }
        return tables
      }),
    )
  }

  table(tableId: string): Table {
    return new TeamTable(this.#context, tableId)
  }

  stash(stashId: string): Stash {
    return new TeamStash(this.#context, stashId)
  }
}

/** The team's entry comes before its first record, so that the sweep finds every team. */
async function enterTeam({ kv }: StoreContext, teamId: string): Promise<void> {
  const system = kv.partition('')
  const key = teamEntryKey(teamId)
  const entry = await system.read((view) => view.get(key))
  if (entry === null) await system.commit({ puts: [[key, EMPTY_RECORD]] })
}

/** Runs a step until it has succeeded once; calls meanwhile share it. */
function onceDone(step: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= step().catch((failure: unknown) => {
      running = undefined
      throw failure
    })
    return running
  }
}
