import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Client, ImportTarget } from '../../../src/client/client.js'
import { ClientError } from '../../../src/client/client.js'
import { openMemory, type Store, type TableSchema } from '../../../src/index.js'
import { STORE_LIMITS } from '../../../src/internal.js'
import type { ColumnKinds } from '../../base/intake.js'
import { type CommandIo, EXIT_CODE } from '../command/command.js'
import { ProgramFailure } from '../command/program-failure.js'
import { openProgress, type ProgressOutput } from '../command/progress.js'
import { STANDARD_INPUT } from '../import/import-bytes.js'
import {
  type CheckResult,
  checkFiles,
  type FileImport,
  importFiles,
} from '../import/import-files.js'
import { checkKeyOfTable } from '../import/import-keys.js'
import type { ImportWarning } from '../import/import-warnings.js'
import { RowRejects } from '../import/row-rejects.js'
import { readParquetSchema } from '../parquet/parquet-read.js'
import {
  type Asking,
  explained,
  findTableId,
  openClient,
  retryNotes,
} from '../stores/command-client.js'
import { withCheckedDirectory, withServedDirectory } from '../stores/served-directory.js'
import { readKey } from '../stores/server-options.js'
import { teamToImportInto } from '../stores/team.js'
import { type GivenTarget, type ImportCommand, parseImportArgs } from './import-args.js'
import { reportImport, reportProblems } from './import-report.js'

/** Runs `rowstash import`. @returns the exit code. @throws {ProgramFailure} */
export async function runImport(
  args: readonly string[],
  io: CommandIo,
  progressOutput: ProgressOutput,
): Promise<number> {
  const command = parseImportArgs(args, io.env)
  const { place } = command
  const bytes = await sumFileBytes(command.files)
  if ('directory' in place) {
    const { directory, team } = place
    const notes = {
      warn: (note: string) => io.warn(command.isJson ? JSON.stringify({ note }) : note),
    }
    const chosen = (store: Store) => teamToImportInto(store, team, notes)
    const serve = command.isCheck ? withCheckedDirectory : withServedDirectory
    return serve(directory, notes, chosen, (server, team) => {
      return importInto({ ...command, team }, bytes, server, io, progressOutput)
    })
  }
  const server = { url: place.url, key: await readKey(place.key) }
  return importInto(command, bytes, server, io, progressOutput)
}

async function importInto(
  command: ImportCommand & Pick<FileImport, 'team'>,
  bytes: number,
  server: Asking,
  io: CommandIo,
  progressOutput: ProgressOutput,
): Promise<number> {
  const progress = openProgress(progressOutput, bytes, command.isJson)
  const asking = { ...server, onRetry: retryNotes((line) => progress.note(line)) }
  const client = openClient(asking)
  let rejects: RowRejects | undefined
  try {
    const target = await resolveImportTarget(command, client, server, io.signal)
    const schemaOf = () => readTargetSchema(target, client, asking, io.signal)
    const kindsOf = async () => kindsIn(await schemaOf(), command)
    if (command.rejectsPath !== undefined) {
      const { rejectsPath: path, refusesShortLines = false } = command
      rejects = await RowRejects.open({ path, schema: await schemaOf(), refusesShortLines })
    }
    const given: FileImport = {
      ...command,
      files: command.files.map((file) => ({ ...file, kindsOf })),
      receipt: command.onSchemaError === 'dropColumns',
      ...asking,
      target,
      signal: io.signal,
      ...(rejects !== undefined && { rejects, refusesShortLines: false }),
      onProgress: (rows, bytes) => progress.show(rows, bytes),
    }
    if (command.isCheck) {
      const before = await warningsBefore(command, client, server, io.signal)
      const checked = await checkFiles(given)
      progress.close()
      reportProblems(io, given, checked, { asJson: command.isJson, before })
      return checked.problemCount === 0 ? EXIT_CODE.done : EXIT_CODE.misfits
    }
    const imported = await (command.isResumable ? resumed(given, client) : importFiles(given))
    await rejects?.finish()
    progress.close()
    await reportImport(io, given, imported, command.isJson)
    return EXIT_CODE.done
  } finally {
    progress.close()
    await rejects?.close()
  }
}

/** Resumes an import: the same command with the same files has the same stash ID. @throws {ProgramFailure} */
async function resumed(
  given: FileImport,
  client: Client,
): Promise<Awaited<ReturnType<typeof importFiles>>> {
  const resumeStash = await stashOf(given)
  try {
    return await importFiles({ ...given, resumeStash })
  } catch (failure) {
    const { cause } = Object(failure) as { cause?: unknown }
    const isOther = cause instanceof ClientError && cause.type === 'stash_differs'
    if (!isOther) throw failure
    await client.deleteStash(resumeStash)
    const problem = 'The input has changed since the import began'
    throw new ProgramFailure(
      'failed',
      `${problem}; the staged rows are deleted: run the command again`,
    )
  }
}

/** Bytes of the digest in a stash ID. */
const STASH_ID_BYTES = 16

/** The stash ID of an import: a digest of its target and its files. */
async function stashOf({
  target,
  files,
  chunkRowsMax,
  onSchemaError,
  rejects,
}: FileImport): Promise<string> {
  const about: unknown[] = [target, chunkRowsMax, onSchemaError]
  if (rejects !== undefined) about.push('rejects')
  for (const { path, ...how } of files) {
    if (path === STANDARD_INPUT) {
      about.push([path, how])
    } else {
      const { size, mtimeMs } = await stat(path)
      about.push([resolve(path), size, mtimeMs, how])
    }
  }
  const digest = createHash('sha256').update(JSON.stringify(about)).digest()
  return `import-${digest.subarray(0, STASH_ID_BYTES).toString('hex')}`
}

/** @throws {ProgramFailure} */
async function resolveImportTarget(
  command: ImportCommand,
  client: Client,
  server: Asking,
  signal: AbortSignal,
): Promise<ImportTarget> {
  const { target, schemaPath, files } = command
  const isNew = target.mode === 'create'
  const given = await (schemaPath === undefined
    ? schemaOfFiles(files, isNew)
    : readSchemaFile(schemaPath))
  const schema = given === undefined ? {} : { schema: given }
  if (target.mode === 'create') {
    // A resumed import may already have made its table, which the server recognizes by the stash ID.
    const mayBeTaken = command.isCheck || command.isResumable || target.isNameShared
    const taken = mayBeTaken ? undefined : await takenBy(target.name, client, server, signal)
    if (taken !== undefined) throw new ProgramFailure('failed', taken)
    return { name: target.name, ...schema }
  }
  const tableId = await tableIdIn(target.table, client, server, signal)
  if (target.mode === 'merge') {
    const { mode, key, missing, unnamed } = target
    // With `update`, the rows may add the column.
    const isWidened = command.onSchemaError === 'updateSchema'
    if (!isWidened)
      checkKeyOfTable(key, (await askTableSchema(client, tableId, server, signal)).columns)
    return { tableId, mode, key, missing, unnamed }
  }
  return target.mode === 'add'
    ? { tableId, mode: 'add' }
    : { tableId, mode: 'overwrite', ...schema }
}

/** Statuses of a server that cannot list tables at all, or that does not list them for this key. */
const STATUSES_WITHOUT_LIST: ReadonlySet<number> = new Set([403, 404, 405])

/** Warnings of a check before it reads rows: reasons why an import would be refused. */
async function warningsBefore(
  { target, isResumable }: ImportCommand,
  client: Client,
  server: Asking,
  signal: AbortSignal,
): Promise<readonly ImportWarning[]> {
  if (target.mode !== 'create' || target.isNameShared || isResumable) return []
  const message = await takenBy(target.name, client, server, signal)
  return message === undefined ? [] : [{ type: 'nameTaken', message }]
}

/** Advice about a name that another table of the team has. undefined: no table has the name. */
async function takenBy(
  name: string,
  client: Client,
  server: Asking,
  signal: AbortSignal,
): Promise<string | undefined> {
  const tables = await client.tables({ signal }).catch((failure: unknown) => {
    const isUnlisted = failure instanceof ClientError && STATUSES_WITHOUT_LIST.has(failure.status)
    if (isUnlisted) return []
    throw explained(failure, server)
  })
  const taken = tables.find((table) => table.name === name)
  if (taken === undefined) return undefined
  const what = 'use --mode add, overwrite or merge, another name, or --new-table'
  return `A table "${name}" exists (${taken.id}); ${what}`
}

/** The schema that the table has or will have. undefined: the schema is inferred from the rows. */
async function readTargetSchema(
  { schema, tableId }: ImportTarget,
  client: Client,
  server: Asking,
  signal: AbortSignal,
): Promise<TableSchema | undefined> {
  if (schema !== undefined || tableId === undefined) return schema
  return askTableSchema(client, tableId, server, signal)
}

/** The kinds of the columns in the schema. */
function kindsIn(
  schema: TableSchema | undefined,
  { onSchemaError }: ImportCommand,
): ColumnKinds | undefined {
  if (schema === undefined) return undefined
  const kinds = new Map(schema.columns.map(({ id, type }) => [id, type.kind]))
  return { kinds, areFixed: onSchemaError !== 'updateSchema' }
}

async function askTableSchema(
  client: Client,
  tableId: string,
  server: Asking,
  signal: AbortSignal,
): Promise<TableSchema> {
  try {
    return (await client.table(tableId).info({ signal })).schema
  } catch (failure) {
    throw explained(failure, server)
  }
}

async function tableIdIn(
  table: Extract<GivenTarget, { table: unknown }>['table'],
  client: Client,
  server: Asking,
  signal: AbortSignal,
): Promise<string> {
  if ('tableId' in table) return table.tableId
  try {
    return findTableId(await client.tables({ signal }), table.name)
  } catch (failure) {
    throw explained(failure, server)
  }
}

/** The schema that all files contain. undefined: a file contains no schema, or the schemas differ. */
async function schemaOfFiles(
  files: ImportCommand['files'],
  isNew: boolean,
): Promise<TableSchema | undefined> {
  const schemas: string[] = []
  for (const { path, format } of files) {
    if (format !== 'parquet') return undefined
    schemas.push(JSON.stringify((await readParquetSchema(path, isNew)) ?? null))
  }
  const [first = 'null'] = new Set(schemas)
  return schemas.every((schema) => schema === first) ? (JSON.parse(first) ?? undefined) : undefined
}

/** The schema in a file, validated before any row is sent. @throws {ProgramFailure} */
async function readSchemaFile(path: string): Promise<TableSchema> {
  try {
    const given: TableSchema & Partial<CheckResult> = JSON.parse(await readFile(path, 'utf8'))
    // The output of `--check --json` contains columns too.
    const isChecked = given?.problemCount !== undefined
    const schema = isChecked ? { columns: given.columns } : given
    await using store = await openMemory({ columnsMax: STORE_LIMITS.columnsMax.max })
    const { tableId } = await store.team('t').createTable({ name: 't', schema, rows: [] })
    return await store.team('t').table(tableId).schema() // Expands the short form.
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ProgramFailure('failed', `The schema ${path} cannot be read: ${reason}`, { cause })
  }
}

/** The total size of the files; 0 if the size of one is unknown. @throws {ProgramFailure} */
async function sumFileBytes(files: ImportCommand['files']): Promise<number> {
  let bytes = 0
  let isKnown = true
  for (const { path } of files) {
    if (path === STANDARD_INPUT) {
      isKnown = false
      continue
    }
    try {
      bytes += (await stat(path)).size
    } catch (failure) {
      throw new ProgramFailure('failed', `There is no file ${path} to read`, { cause: failure })
    }
  }
  return isKnown ? bytes : 0
}
