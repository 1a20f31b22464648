// `rowstash sweep`: the upkeep of a store that no server has open.
import { parseArgs } from 'node:util'
import type { StoreOptions, SweepReport } from '../../src/index.js'
import { NO_BACKGROUND } from '../base/no-background.js'
import type { CommandIo } from './cli-command.js'
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
    compresses all segments (on Node 22.15 or later), and deletes what nothing refers to. Prints the count
    of each, as name, tab and count. Rows that were overwritten within the last hour are kept; on PostgreSQL,
    so is all that was released within the last 10 minutes, because other processes may still read it.`,
  options: OPTIONS,
  notes: `A server sweeps on its own; no request starts a sweep. Exit code 0: done; 1: the store cannot be
    opened, or the sweep failed; 2: a usage error.`,
  details: [PLACE_ENVIRONMENT],
}

/** The command does not live until segments have their age, so none is too young. */
const OPTIONS_OF_STORE: StoreOptions = { ...NO_BACKGROUND, settleAfterMs: 0 }

/** Runs `rowstash sweep`. @throws {ProgramFailure} */
export async function runSweep(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  if (values.url !== undefined) {
    const problem = 'A server sweeps on its own, and no request starts a sweep'
    throw new ProgramFailure('usage', `${problem}; use --directory after it has stopped`)
  }
  const place = placeOf(values, io)
  const isDirectory = typeof place === 'string'
  // Nobody else reads a directory that is open here, so nothing is kept for readers.
  const options = isDirectory ? { ...OPTIONS_OF_STORE, orphanGraceMs: 0 } : OPTIONS_OF_STORE
  const store = await openAlone(
    place,
    (wait) => openStoreOf(place, io, { ...options, ...wait }),
    'it sweeps on its own',
  )
  try {
    const first = await store.sweep()
    // What it has released, a second one deletes, where nothing waits for readers.
    const report = isDirectory ? addCounts(first, await store.sweep()) : first
    if (values.json) io.print(JSON.stringify(report))
    else for (const [name, count] of Object.entries(report)) io.print(`${name}\t${count}`)
  } finally {
    await store.close()
  }
}

function addCounts(first: SweepReport, second: SweepReport): SweepReport {
  const names = Object.keys(first) as (keyof SweepReport)[]
  return Object.fromEntries(names.map((name) => [name, first[name] + second[name]])) as SweepReport
}
