// Runs of rows of a source, as `rowstash import` reads them from a file.
import type { Dialect } from '../../adapters/base/intake.js'
import type { SourceFormat } from '../../adapters/base/records.js'
import { chunkOf, openFileText, type RowRun } from '../../adapters/cli/import/import-source.js'

type How = Readonly<{ dialect?: Dialect; detects?: boolean; allowEmpty?: boolean }>

/** @param how - Default: no options, and no detection. */
export async function* cutRuns(
  source: AsyncIterable<Uint8Array>,
  format: SourceFormat,
  rowsMax: number,
  how: How = {},
): AsyncGenerator<RowRun> {
  const intake = await openFileText(source, format, rowsMax, { detects: false, ...how })
  const placeOf = (offset: number) =>
    ({ path: '', line: intake.lineAt(offset), unit: 'line' }) as const
  const advice = () => intake.report.advice
  for await (const run of intake.runs) yield { ...run, placeOf, advice }
}

export function bodyOf(run: RowRun, first = 0, limit = run.starts.length): Uint8Array {
  return chunkOf(run).body(first, limit)
}

export function contentTypeOf(run: RowRun): string {
  return chunkOf(run).type
}
