// `rowstash stashes`: lists and deletes staged rows.
import { parseArgs } from 'node:util'
import type { StashChunk } from '../../../src/index.js'
import { escapeControls } from '../../base/arguments.js'
import { type CommandIo, printResult } from '../command/command.js'
import type { CommandSpec, OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { PLACE_ENVIRONMENT } from '../stores/postgres-place.js'
import {
  asking,
  PLACE_FORM,
  resolveServer,
  TEAM_OPTIONS,
  type TeamValues,
  withTeam,
} from '../stores/table-options.js'

const OPTIONS = {
  ...TEAM_OPTIONS,
  stash: { type: 'string', value: 'ID', help: 'list the chunks of one stash: serial and rows' },
  delete: { type: 'boolean', default: false, help: 'delete that stash; tables made from it stay' },
  json: { type: 'boolean', default: false, help: 'print each stash or chunk as a line of JSON' },
} as const satisfies OptionSpecs

export const STASHES_COMMAND: CommandSpec = {
  name: 'stashes',
  summary: 'list and delete staged rows',
  usage: [`stashes ${PLACE_FORM} [--json]`, `stashes ${PLACE_FORM} --stash ID [--delete]`],
  about: 'Lists the stashes of a team: ID, chunks, rows and expiry, separated by tabs.',
  options: OPTIONS,
  notes: `A stash expires 48 hours after its last chunk. Exit code 0: done; 1: it failed, or there
    is no such stash; 2: a usage error.`,
  details: [PLACE_ENVIRONMENT],
}

/** Runs `rowstash stashes`. @throws {ProgramFailure} */
export async function runStashes(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  const { stash, json } = values
  if (stash !== undefined) {
    if (values.delete) return runDeleteStash(stash, values, io)
    for (const chunk of await listStashChunks(stash, values, io)) {
      printResult(io, json, chunk, `${escapeControls(chunk.serial)}\t${chunk.rows}`)
    }
    return
  }
  if (values.delete) throw new ProgramFailure('usage', '--delete needs --stash ID')
  const server = await resolveServer(values, io)
  const entries =
    server === undefined
      ? await withTeam(values, io, (team) => team.stashes())
      : await asking(server, (client) => client.stashes({ signal: io.signal }))
  for (const entry of entries) {
    const { id, chunks, rows, expiresAt } = entry
    const text = [escapeControls(id), chunks, rows, new Date(expiresAt).toISOString()].join('\t')
    printResult(io, json, entry, text)
  }
}

async function listStashChunks(
  id: string,
  values: TeamValues,
  io: CommandIo,
): Promise<readonly StashChunk[]> {
  const server = await resolveServer(values, io)
  if (server !== undefined) {
    return asking(server, (client) => client.stashChunks(id, { signal: io.signal }))
  }
  return withTeam(values, io, (team) => team.stash(id).chunks())
}

/** Deletes a stash. If there is none, this fails in a directory; a server does not report it. */
async function runDeleteStash(
  id: string,
  values: TeamValues & Readonly<{ json: boolean }>,
  io: CommandIo,
): Promise<void> {
  const server = await resolveServer(values, io)
  if (server === undefined) {
    const isDeleted = await withTeam(values, io, (team) => team.stash(id).delete())
    if (!isDeleted) throw new ProgramFailure('failed', `There is no stash '${id}'`)
  } else {
    await asking(server, (client) => client.deleteStash(id, { signal: io.signal }))
  }
  printResult(io, values.json, { id }, `deleted ${id}`)
}
