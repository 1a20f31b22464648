// A directory with one table of orders, and commands that run on it in this process.
import { mkdtempSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll } from 'vitest'
import type { CommandIo } from '../../adapters/cli/command/command.js'
import { runExport } from '../../adapters/cli/commands/export.js'
import { runImport } from '../../adapters/cli/commands/import.js'

export const CSV = 'id,total,note\n1,34.50,"a, ""b"""\n2,9007199254740993.0,\n3,7,x\n'

export type Run = (args: readonly string[], io: CommandIo) => Promise<unknown>

/** Runs a command in this process. @returns its output and its warnings */
export async function printedAt(
  place: readonly string[],
  run: Run,
  ...args: string[]
): Promise<string[]> {
  const lines: string[] = []
  const print = (line: string) => lines.push(line)
  await run([...args, ...place], {
    print,
    warn: print,
    env: {},
    signal: new AbortController().signal,
  })
  return lines
}

/** Creates the directory, and the file `orders.csv` beside it, for the tests of a file. */
export function useOrders() {
  const folder = mkdtempSync(join(tmpdir(), 'rowstash-tables-'))
  const directory = join(folder, 'store')
  const printed = (run: Run, ...args: string[]) => {
    return printedAt(['--directory', directory], run, ...args)
  }
  const importing = (...args: string[]) =>
    printed((given, io) => runImport(given, io, { write: () => true }), ...args)
  beforeAll(async () => {
    await writeFile(join(folder, 'orders.csv'), CSV)
    await importing(join(folder, 'orders.csv'), '--table', 'Orders')
  })
  afterAll(() => rm(folder, { recursive: true }))
  return {
    folder,
    directory,
    printed,
    importing,
    /** @returns the output of an export */
    async exporting(...args: string[]): Promise<string> {
      const output = new PassThrough()
      const run: Run = (given, io) => runExport(given, io, output, { write: () => true })
      const ended = printed(run, ...args).finally(() => output.end())
      const [written] = await Promise.all([text(output), ended])
      return written
    },
  }
}
