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
  url: { type: 'string', value: 'URL', help: 'refused: a server sweeps by itself', isRare: true },
  json: { type: 'boolean', default: false, help: 'print the counts as a line of JSON' },
  ...PLACE_OPTIONS,
} as const satisfies OptionSpecs

export const SWEEP_COMMAND: CommandSpec = {
  name: 'sweep',
  summary: 'give back the space of what was deleted',
  usage: ['sweep --directory DIR [--json]', 'sweep --postgres URL [--s3 URL] [--json]'],
  about: `Does at once what an open store does in the background: folds changed rows into segments,
    compresses segments of some age, and deletes what nothing refers to. Prints how many of each, with a
    tab between name and count. What was let go a short time ago is kept: it may still be read.`,
  options: OPTIONS,
  notes: `A server sweeps by itself; no request asks it to. Exit code 0: done; 1: the store cannot be
    opened, or the sweep failed; 2: a wrong call.`,
  details: [PLACE_ENVIRONMENT],
}

/** Runs `rowstash sweep`. @throws {ProgramFailure} */
export async function runSweep(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  if (values.url !== undefined) {
    const problem = 'A server sweeps by itself, and no request asks it to'
    throw new ProgramFailure('usage', `${problem}; give --directory once it has ended`)
  }
  const place = placeOf(values, io)
  const store = await openAlone(place, () => openStoreOf(place, io), 'it sweeps by itself')
  try {
    const report = await store.sweep()
    const text = Object.entries(report).map(([name, count]) => `${name}\t${count}`)
    printResult(io, values.json, report, text.join('\n'))
  } finally {
    await store.close()
  }
}
