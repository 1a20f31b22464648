// All commands, in the order in which the help lists them.
import { BACKUP_COMMAND, RESTORE_COMMAND, runBackup, runRestore } from './cli-backup.js'
import { DELETE_COMMAND, RENAME_COMMAND, runDelete, runRename } from './cli-change-table.js'
import type { CommandIo } from './cli-command.js'
import { DEMO_COMMAND, runDemo } from './cli-demo.js'
import { EXPORT_COMMAND, runExport } from './cli-export.js'
import { runImport } from './cli-import.js'
import { IMPORT_COMMAND } from './cli-import-args.js'
import { KEYS_COMMAND, runKeys } from './cli-keys.js'
import { MOVE_COMMAND, runMove } from './cli-move.js'
import { OPEN_COMMAND, runOpen } from './cli-open.js'
import { RECOVER_COMMAND, runRecover } from './cli-recover.js'
import { ROWS_COMMAND, runRows } from './cli-rows.js'
import { runServe } from './cli-serve.js'
import { SERVE_COMMAND } from './cli-serve-options.js'
import { runStashes, STASHES_COMMAND } from './cli-stashes.js'
import { runStats, STATS_COMMAND } from './cli-stats.js'
import { runSweep, SWEEP_COMMAND } from './cli-sweep.js'
import {
  runSchema,
  runTables,
  runTypes,
  SCHEMA_COMMAND,
  TABLES_COMMAND,
  TYPES_COMMAND,
} from './cli-tables.js'
import { runVerify, VERIFY_COMMAND } from './cli-verify.js'
import type { CommandSpec } from './command-spec.js'
import type { Terminal } from './terminal.js'

/** The environment of a command of a process. */
export type ProcessIo = CommandIo & Pick<Terminal, 'rows' | 'progress'>

export type Command = Readonly<{
  spec: CommandSpec
  /** @returns the exit code, if it is another than 0. */
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
  { spec: TYPES_COMMAND, run: runTypes },
  { spec: RENAME_COMMAND, run: runRename },
  { spec: DELETE_COMMAND, run: runDelete },
  { spec: STASHES_COMMAND, run: runStashes },
  { spec: STATS_COMMAND, run: runStats },
  { spec: SWEEP_COMMAND, run: runSweep },
  { spec: KEYS_COMMAND, run: runKeys },
  { spec: VERIFY_COMMAND, run: runVerify },
  { spec: BACKUP_COMMAND, run: runBackup },
  { spec: RESTORE_COMMAND, run: runRestore },
  { spec: MOVE_COMMAND, run: runMove },
  { spec: RECOVER_COMMAND, run: runRecover },
]
