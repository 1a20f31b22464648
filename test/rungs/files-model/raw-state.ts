// The stored records and objects, read without the stores.
import { renderFileId } from '../../../src/format/file-id.js'
import { decodeFile, decodeFilesHead, decodeTeamAlias } from '../../../src/format/file-records.js'
import { FILES_HEAD_KEY, KEY_SPACE, tableHeadKey, teamAliasKey } from '../../../src/format/keys.js'
import { decodeTableHead } from '../../../src/format/records.js'
import { TEAM, type World } from './world.js'

export type RawState = Readonly<{
  /** Keys in hex, without their key space. */
  files: readonly string[]
  uploads: readonly string[]
  markers: readonly string[]
  head: Readonly<{ files: number; bytes: number }>
  /** The state of the files in their records. */
  bytes: number
  /** The number of records of each key space. */
  counts: Readonly<Record<number, number>>
}>

const EVERYTHING = { start: new Uint8Array(0), limit: Uint8Array.of(0xff), count: 100_000 }

type Entries = readonly (readonly [key: Uint8Array, value: Uint8Array])[]

function readEntries({ kv }: World): Promise<Entries> {
  return kv.partition(TEAM).read((view) => view.scan(EVERYTHING))
}

export async function readRaw(world: World): Promise<RawState> {
  const entries = await readEntries(world)
  const of = (space: number): Entries => entries.filter(([key]) => key[0] === space)
  const keysOf = (space: number): string[] => of(space).map(([key]) => hex(key.subarray(1)))
  const counts: Record<number, number> = {}
  for (const [key] of entries) counts[key[0] ?? 0] = (counts[key[0] ?? 0] ?? 0) + 1
  const head = of(FILES_HEAD_KEY[0] ?? 0)[0]?.[1]
  return {
    files: keysOf(KEY_SPACE.file),
    uploads: keysOf(KEY_SPACE.upload),
    markers: keysOf(KEY_SPACE.fileMarker),
    head: head === undefined ? { files: 0, bytes: 0 } : decodeFilesHead(head),
    bytes: of(KEY_SPACE.file).reduce((sum, [, value]) => sum + decodeFile(value).bytes, 0),
    counts,
  }
}

/** All records as one text. */
export async function readRecords(world: World): Promise<string> {
  return (await readEntries(world)).map(([key, value]) => `${hex(key)}=${hex(value)}`).join('\n')
}

export async function listObjects({ objects }: World): Promise<readonly string[]> {
  const all: string[] = []
  for (;;) {
    const ids = await objects.list('', all.at(-1))
    if (ids.length === 0) return all
    all.push(...ids)
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** The key of a file or an upload in hex, from its ID. */
export function keyOfId(id: string): string {
  return Buffer.from(id.slice(4), 'base64url').subarray(8).toString('hex')
}

/** The ID of a file of the team, from its key in hex. */
export async function fileIdOf({ kv }: World, key: string): Promise<string> {
  const alias = await kv.partition('').read((view) => view.get(teamAliasKey(TEAM)))
  if (alias === null) throw new Error('a team with files has an alias')
  return renderFileId({ alias: decodeTeamAlias(alias), key: Buffer.from(key, 'hex') })
}

/** Reads without a store, so that no crash or hold applies. */
export async function readTableVersion({ kv }: World, tableId: string): Promise<number> {
  const key = tableHeadKey(Buffer.from(tableId.replaceAll('-', ''), 'hex'))
  const head = await kv.partition(TEAM).read((view) => view.get(key))
  if (head === null) throw new Error('a table has a head')
  return decodeTableHead(head).version
}
