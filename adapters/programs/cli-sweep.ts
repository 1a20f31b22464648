// `rowstash sweep`: the upkeep of a store that no server has open.
import { parseArgs } from 'node:util'
import { type CommandIo, printResult } from './cli-command.js'
import { DIRECTORY_OPTION, placeOf } from './cli-table-options.js'
import type { CommandSpec, OptionSpecs } from './command-spec.js'
import { PLACE_ENVIRONMENT, PLACE_OPTIONS } from './postgres-place.js'
import { ProgramFailure } from './program-failure.js'
import { openAlone, openStoreOf } from './store-place.js'

const OPTIONS = {
  directory: DIRECTORY_OPTION,
  url: { type: 'string', value: 'URL', help: 'refused: a server sweeps on its own', isRare: true },
  json: { type: 'boolean', default: false, help: 'print the counts as a line of JSON' },
  ...PLACE_OPTIONS,
} as const satisfies OptionSpecs

export const SWEEP_COMMAND: CommandSpec = {
  name: 'sweep',
  summary: 'free the space of deleted data',
  usage: ['sweep --directory DIR [--json]', 'sweep --postgres URL [--s3 URL] [--json]'],
  about: `Does now what an open store does in the background: folds changed rows into segments,
    compresses older segments, and deletes what nothing refers to. Prints the count of each, as name, tab
    and count. Data that was released only recently is kept, because it may still be read.`,
  options: OPTIONS,
  notes: `A server sweeps on its own; no request starts a sweep. Exit code 0: done; 1: the store cannot be
    opened, or the sweep failed; 2: a usage error.`,
  details: [PLACE_ENVIRONMENT],
}

/** Runs `rowstash sweep`. @throws {ProgramFailure} */
export async function runSweep(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  if (values.url !== undefined) {
    const problem = 'A server sweeps on its own, and no request starts a sweep'
    throw new ProgramFailure('usage', `${problem}; use --directory after it has stopped`)
  }
  const place = placeOf(values, io)
  const store = await openAlone(place, () => openStoreOf(place, io), 'it sweeps on its own')
  try {
    const report = await store.sweep()
    const text = Object.entries(report).map(([name, count]) => `${name}\t${count}`)
    printResult(io, values.json, report, text.join('\n'))
  } finally {
    await store.close()
  }
}
