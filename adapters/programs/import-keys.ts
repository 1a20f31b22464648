// The key columns of `rowstash import --mode merge`: looked for before rows are sent, and compared by its check.
import type { ImportTarget } from '../../src/client/client.js'
import type { Column } from '../../src/index.js'
import { didYouMean, escapeControls } from '../base/arguments.js'
import { isJson } from '../base/records.js'
import type { RowRun } from './import-source.js'
import { HeaderReader } from './import-values.js'
import { ProgramFailure } from './program-failure.js'

type Merge = Extract<ImportTarget, { mode: 'merge' }>

export function isMerge(target: ImportTarget): target is Merge {
  return 'mode' in target && target.mode === 'merge'
}

/** @throws {ProgramFailure} if the table lacks a key column */
export function checkKeyOfTable(key: readonly string[], columns: readonly Column[]): void {
  const ids = columns.map(({ id }) => id)
  checkKey(key, ids, 'The table has no key column')
}

/** @throws {ProgramFailure} if the header of a csv or tsv file lacks a key column. Rows of JSON name their columns each. */
export function checkKeyOfFile(key: readonly string[], run: RowRun, path: string): void {
  if (isJson(run.format)) return
  checkKey(key, new HeaderReader().read(run), `The header of ${path} has no key column`)
}

function checkKey(key: readonly string[], columns: readonly string[], problem: string): void {
  for (const column of key) {
    if (columns.includes(column)) continue
    const meant = didYouMean(column, columns, (nearest) => `"${escapeControls(nearest)}"`)
    throw new ProgramFailure('failed', `${problem} "${escapeControls(column)}" (--by)${meant}`)
  }
}

/**
 * Sends requests, and behind the check of a merge, which is that of an overwrite and lists misfits, a dry run of the merge
 * itself. That alone compares keys: it answers in place of the check if it is refused.
 */
export function withDryRun(merge: Merge, send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const answer = await send(input, init)
    const url = new URL(input instanceof Request ? input.url : input)
    const isCheck = init?.method === 'PUT' && url.searchParams.get('validate') === 'only'
    if (!isCheck || !answer.ok) return answer
    const { data } = (await answer.clone().json()) as { data?: { problemCount?: number } }
    if (data?.problemCount !== 0) return answer
    url.pathname += '/merge'
    for (const column of merge.key) url.searchParams.append('key', column)
    url.searchParams.set('mode', merge.missing === 'delete' ? 'replace' : 'upsert')
    const { rows } = JSON.parse(String(init.body)) as { rows: unknown }
    const merged = await send(url, { ...init, method: 'POST', body: JSON.stringify(rows) })
    if (!merged.ok) return merged
    await merged.body?.cancel()
    return answer
  }
}
