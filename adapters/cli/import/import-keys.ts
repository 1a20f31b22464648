// Checks the key columns of `rowstash import --mode merge` before rows are sent.
import type { ImportTarget } from '../../../src/client/client.js'
import type { Column } from '../../../src/index.js'
import { fieldTexts } from '../../base/intake.js'
import { isJson } from '../../base/records.js'
import { delimiterOfRun, type RowRun } from './import-source.js'
import { checkNamedColumns } from './named-columns.js'

type Merge = Extract<ImportTarget, { mode: 'merge' }>

export function isMerge(target: ImportTarget): target is Merge {
  return target.mode === 'merge'
}

/** @throws {ProgramFailure} if the table lacks a key column */
export function checkKeyOfTable(key: readonly string[], columns: readonly Column[]): void {
  const ids = columns.map(({ id }) => id)
  checkNamedColumns(key, new Set(ids), (column) => `The table has no key column ${column} (--by)`)
}

/** @throws {ProgramFailure} if the header of a csv or tsv file lacks a key column. In JSON, each row names its columns. */
export function checkKeyOfFile(key: readonly string[], run: RowRun, path: string): void {
  if (isJson(run.format)) return
  const header = new Set(fieldTexts(run.header, delimiterOfRun(run)))
  checkNamedColumns(
    key,
    header,
    (column) => `The header of ${path} has no key column ${column} (--by)`,
  )
}
