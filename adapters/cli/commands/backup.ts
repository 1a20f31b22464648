import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { BackupOptions } from '../../../src/index.js'
import { RESTORED_VERSION_STEP } from '../../../src/internal.js'
import { backupToFile, saveBackup } from '../../directory/backup-file.js'
import { restoreDirectory } from '../../directory/restore-directory.js'
import { type CommandIo, parseChoice, printResult } from '../command/command.js'
import {
  type CommandSpec,
  DIR_OPTION,
  type OptionSpecs,
  withDirectory,
} from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { backupServed } from '../stores/admin-client.js'
import { PLACE_ENVIRONMENT, PLACE_OPTIONS, parsePostgresPlace } from '../stores/postgres-place.js'
import { openStoreOrServer, type StorePlace } from '../stores/store-place.js'

const BACKUP_OPTIONS = {
  files: {
    type: 'string',
    default: 'include',
    value: 'include|reference',
    help: `whether the backup contains the bytes of stored files (include, the default) or only
      their digests`,
  },
  json: { type: 'boolean', default: false, help: 'print the result as a line of JSON' },
  ...DIR_OPTION,
  ...PLACE_OPTIONS,
} as const satisfies OptionSpecs

export const BACKUP_COMMAND: CommandSpec = {
  name: 'backup',
  summary: 'write a store to one file',
  usage: ['backup DIR FILE [--files include|reference]', 'backup --postgres URL [--s3 URL] FILE'],
  about: `Writes a backup of a store to a new file, even while "rowstash serve" has its directory
    open. Another program that has it open can call backupToFile(store, FILE).`,
  options: BACKUP_OPTIONS,
  hasOperands: true,
  notes: `The backup contains the store's secrets: protect it as well as the store itself. Do not copy
    the directory of an open store instead: such a copy may be broken. A backup also contains deleted and
    overwritten rows that were not removed yet: run "rowstash maintain" first to make it smaller. Exit code 0: FILE is complete;
    1: no FILE was written; 2: a usage error.`,
  details: [PLACE_ENVIRONMENT],
}

const RESTORE_OPTIONS = {
  'files-from': {
    type: 'string',
    value: 'DIR',
    help: 'the original store, if the backup was made with --files reference',
  },
  json: { type: 'boolean', default: false, help: 'print the result as a line of JSON' },
} as const satisfies OptionSpecs

export const RESTORE_COMMAND: CommandSpec = {
  name: 'restore',
  summary: 'restore a store from a backup',
  usage: ['restore FILE NEWDIR [--files-from DIR]'],
  about: `Restores a backup into a directory that is missing or empty. The directory appears only
    after the whole backup is verified; a damaged backup leaves nothing behind. All versions are then
    2^32 greater than in the backup, so that no version known to a client denotes other content. Stashes
    cannot be used, because chunks may have been put after the backup; the result lists them. Jobs continue.`,
  options: RESTORE_OPTIONS,
  hasOperands: true,
  notes:
    'Exit code 0: the store is restored; 1: it is not, and NEWDIR is unchanged; 2: a usage error.',
}

/** Advice if another program has the store open. */
const BACKUP_INSTEAD =
  'call backupToFile(store, FILE) in it, or POST /admin/backup of its handler with one of its adminKeys'

/** Runs `rowstash backup`. @throws {ProgramFailure} */
export async function runBackup(args: readonly string[], io: CommandIo): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: BACKUP_OPTIONS,
  })
  const operands = withDirectory(values.directory, positionals)
  const postgres = parsePostgresPlace(values, io.env, { isElsewhere: operands.length > 1 })
  const [place, file] =
    postgres === null
      ? checkTwoNames(operands, 'Specify the directory of a store, and a new file')
      : ([postgres, checkSoleName(operands, 'Specify a new file')] as const)
  const files = parseChoice('--files', values.files, ['include', 'reference'])
  const bytes = await backUp(place, file, files, io)
  const path = resolve(file)
  printResult(io, values.json, { bytes, path }, `${bytes} bytes in ${path}`)
}

type Files = NonNullable<BackupOptions['files']>

async function backUp(
  place: StorePlace,
  file: string,
  files: Files,
  io: CommandIo,
): Promise<number> {
  const { signal } = io
  const opened = await openStoreOrServer(place, io, BACKUP_INSTEAD)
  if ('served' in opened) return saveBackup(file, () => backupServed(opened.served, files, signal))
  const { store } = opened
  try {
    return await backupToFile(store, file, { files, signal })
  } finally {
    await store.close()
  }
}

/** Runs `rowstash restore`. @throws {ProgramFailure} */
export async function runRestore(args: readonly string[], io: CommandIo): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: RESTORE_OPTIONS,
  })
  const [file, directory] = checkTwoNames(
    positionals,
    'Specify the file of a backup, and a new directory',
  )
  const filesFrom = values['files-from']
  await checkFile(file)
  const options = { signal: io.signal, ...(filesFrom !== undefined && { filesFrom }) }
  const restored = await restoreDirectory(directory, createReadStream(file), options)
  const { createdAt, records, objects, unusableStashes } = restored
  const result = {
    ...{ createdAt, records, objects, unusableStashes },
    directory: resolve(directory),
  }
  const when = new Date(createdAt).toISOString()
  const text = `restored ${records} records and ${objects} objects of ${when} into ${result.directory}`
  printResult(io, values.json, result, text)
  io.warn(
    `all versions are ${RESTORED_VERSION_STEP} greater than in the backup, so versions known to clients are no longer valid`,
  )
  const [stash] = unusableStashes
  if (stash === undefined) return
  const which = `${unusableStashes.length} (${stash.stashId} of team ${stash.teamId}, …; --json lists all)`
  io.warn(
    `unusable stashes, because chunks may have been put after the backup: ${which}; delete them, and put their chunks again`,
  )
}

/** @throws {ProgramFailure} if the path is not a file. */
async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch((failure: NodeJS.ErrnoException) => {
    if (failure.code === 'ENOENT') return null
    throw new ProgramFailure('failed', `${path} cannot be read: ${failure.message}`, {
      cause: failure,
    })
  })
  if (found === null) throw new ProgramFailure('failed', `There is no file ${path}`)
  if (found.isDirectory()) {
    throw new ProgramFailure('failed', `${path} is a directory; specify the file of a backup`)
  }
}

function checkSoleName(names: readonly string[], problem: string): string {
  const [name, ...more] = names
  if (name !== undefined && more.length === 0) return name
  throw new ProgramFailure('usage', problem)
}

function checkTwoNames(names: readonly string[], problem: string): readonly [string, string] {
  const [first, second, ...more] = names
  if (first !== undefined && second !== undefined && more.length === 0) return [first, second]
  throw new ProgramFailure('usage', problem)
}
