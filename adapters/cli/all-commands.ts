// All commands, in the order of the help.

import type { CommandIo } from './command/command.js'
import type { CommandSpec } from './command/command-spec.js'
import type { Terminal } from './command/terminal.js'
import { BACKUP_COMMAND, RESTORE_COMMAND, runBackup, runRestore } from './commands/backup.js'
import { DELETE_COMMAND, RENAME_COMMAND, runDelete, runRename } from './commands/change-table.js'
import { DEMO_COMMAND, runDemo } from './commands/demo.js'
import { EXPORT_COMMAND, runExport } from './commands/export.js'
import { runImport } from './commands/import.js'
import { IMPORT_COMMAND } from './commands/import-args.js'
import { KEYS_COMMAND, runKeys } from './commands/keys.js'
import { MAINTAIN_COMMAND, runMaintain } from './commands/maintain.js'
import { MOVE_COMMAND, runMove } from './commands/move.js'
import { OPEN_COMMAND, runOpen } from './commands/open.js'
import { RECOVER_COMMAND, runRecover } from './commands/recover.js'
import { ROWS_COMMAND, runRows, runWatch, WATCH_COMMAND } from './commands/rows.js'
import { runServe } from './commands/serve.js'
import { SERVE_COMMAND } from './commands/serve-options.js'
import { runStashes, STASHES_COMMAND } from './commands/stashes.js'
import { runStats, STATS_COMMAND } from './commands/stats.js'
import {
  runSchema,
  runTables,
  runTypes,
  SCHEMA_COMMAND,
  TABLES_COMMAND,
  TYPES_COMMAND,
} from './commands/tables.js'
import { runTorture, TORTURE_COMMAND } from './commands/torture.js'
import { runVerify, VERIFY_COMMAND } from './commands/verify.js'

/** The environment of a command in its own process. */
export type ProcessIo = CommandIo & Pick<Terminal, 'rows' | 'progress'>

export type Command = Readonly<{
  spec: CommandSpec
  /** @returns the exit code, unless it is 0. */
  run(args: readonly string[], io: ProcessIo): Promise<unknown>
}>

export const COMMANDS: readonly Command[] = [
  { spec: SERVE_COMMAND, run: runServe },
  { spec: OPEN_COMMAND, run: runOpen },
  { spec: DEMO_COMMAND, run: runDemo },
  { spec: IMPORT_COMMAND, run: (args, io) => runImport(args, io, io.progress) },
  { spec: EXPORT_COMMAND, run: (args, io) => runExport(args, io, io.rows, io.progress) },
  { spec: TABLES_COMMAND, run: runTables },
  { spec: SCHEMA_COMMAND, run: runSchema },
  { spec: ROWS_COMMAND, run: runRows },
  { spec: WATCH_COMMAND, run: runWatch },
  { spec: TYPES_COMMAND, run: runTypes },
  { spec: RENAME_COMMAND, run: runRename },
  { spec: DELETE_COMMAND, run: runDelete },
  { spec: STASHES_COMMAND, run: runStashes },
  { spec: STATS_COMMAND, run: runStats },
  { spec: MAINTAIN_COMMAND, run: runMaintain },
  { spec: KEYS_COMMAND, run: runKeys },
  { spec: VERIFY_COMMAND, run: runVerify },
  { spec: BACKUP_COMMAND, run: runBackup },
  { spec: RESTORE_COMMAND, run: runRestore },
  { spec: MOVE_COMMAND, run: runMove },
  { spec: RECOVER_COMMAND, run: runRecover },
  { spec: TORTURE_COMMAND, run: runTorture },
]
