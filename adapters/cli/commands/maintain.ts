// `rowstash maintain`: the maintenance of a store without a server.
import { parseArgs } from 'node:util'
import type { MaintenanceReport, StoreOptions } from '../../../src/index.js'
import { NO_MAINTENANCE } from '../../../src/internal.js'
import type { CommandIo } from '../command/command.js'
import type { CommandSpec, OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { PLACE_ENVIRONMENT, PLACE_OPTIONS } from '../stores/postgres-place.js'
import { openAlone, openExistingStore } from '../stores/store-place.js'
import { DIRECTORY_OPTION, parseStorePlace } from '../stores/table-options.js'

const OPTIONS = {
  directory: DIRECTORY_OPTION,
  url: {
    type: 'string',
    value: 'URL',
    help: 'refused: a server does this on its own',
    isRare: true,
  },
  json: { type: 'boolean', default: false, help: 'print the counts as a line of JSON' },
  ...PLACE_OPTIONS,
} as const satisfies OptionSpecs

export const MAINTAIN_COMMAND: CommandSpec = {
  name: 'maintain',
  summary: 'free the space of deleted data',
  usage: ['maintain --directory DIR [--json]', 'maintain --postgres URL [--s3 URL] [--json]'],
  about: `Does now what an open store does in the background: moves changed rows into segments,
    compresses all segments (on Node 22.15 or later), and deletes what nothing refers to. Prints the count
    of each, as name, tab and count. Rows that were overwritten within the last hour are kept; on PostgreSQL,
    so is all that was released within the last 10 minutes, because other processes may still read it.`,
  options: OPTIONS,
  notes: `A server does this on its own; no request starts it. Exit code 0: done; 1: the store cannot be
    opened, or the work failed; 2: a usage error.`,
  details: [PLACE_ENVIRONMENT],
}

/** The command ends before segments reach their age, so it compresses them at any age. */
const OPTIONS_OF_STORE: StoreOptions = {
  maintenance: { ...NO_MAINTENANCE, recompressionAgeMs: 0 },
}

/** Runs `rowstash maintain`. @throws {ProgramFailure} */
export async function runMaintain(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  if (values.url !== undefined) {
    const problem = 'A server does this on its own, and no request starts it'
    throw new ProgramFailure('usage', `${problem}; use --directory after it has stopped`)
  }
  const place = parseStorePlace(values, io)
  const isDirectory = typeof place === 'string'
  // No other process reads a directory that is open here, so nothing is kept for readers.
  const options = isDirectory ? { ...OPTIONS_OF_STORE, orphanGraceMs: 0 } : OPTIONS_OF_STORE
  const store = await openAlone(
    place,
    io,
    (wait) => openExistingStore(place, io, { ...options, ...wait }),
    'it does this on its own',
  )
  try {
    const first = await store.maintain()
    // Without readers to wait for, a second run deletes what the first released.
    const report = isDirectory ? addCounts(first, await store.maintain()) : first
    if (values.json) io.print(JSON.stringify(report))
    else for (const [name, count] of Object.entries(report)) io.print(`${name}\t${count}`)
  } finally {
    await store.close()
  }
}

function addCounts(first: MaintenanceReport, second: MaintenanceReport): MaintenanceReport {
  const names = Object.keys(first) as (keyof MaintenanceReport)[]
  return Object.fromEntries(
    names.map((name) => [name, first[name] + second[name]]),
  ) as MaintenanceReport
}
