// Moves a store between a directory and PostgreSQL: restores a backup into the target while it is made.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { RestoreResult } from '../../../src/index.js'
import { isStoreError, restoreBackup } from '../../../src/index.js'
import { restoreDirectory, verifyRestored } from '../../directory/restore-directory.js'
import { markFilling } from '../../postgres/store-marks.js'
import { type CommandIo, printResult } from '../command/command.js'
import type { CommandSpec, OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import {
  closePorts,
  openSharedPorts,
  optionsOf,
  PLACE_ENVIRONMENT,
  PLACE_OPTIONS,
  POSTGRES_VARIABLE,
  type PostgresPlace,
  parsePostgresPlace,
  type SharedPorts,
  shownPlace,
} from '../stores/postgres-place.js'
import { openExistingStore } from '../stores/store-place.js'

const OPTIONS = {
  from: {
    type: 'string',
    value: 'DIR|URL',
    help: `the directory, or the database as postgres://USER@HOST:PORT/DATABASE?schema=NAME (default:
      ${POSTGRES_VARIABLE})`,
  },
  to: {
    type: 'string',
    value: 'DIR|URL',
    help: 'the target: a database if --from is a directory, otherwise a directory',
  },
  s3: PLACE_OPTIONS.s3,
  json: { type: 'boolean', default: false, help: 'print the result as a line of JSON' },
} as const satisfies OptionSpecs

export const MOVE_COMMAND: CommandSpec = {
  name: 'move',
  summary: 'copy a store to PostgreSQL, or back',
  usage: ['move --from DIR --to URL [--s3 URL]', 'move --from URL [--s3 URL] --to DIR'],
  about: `Copies the store in a directory to PostgreSQL, or back, and verifies the copy in full. The
    target must be missing or empty. Tables, row IDs, stashes, jobs, files and API keys stay the
    same; versions begin 2^32 above those of the source. The source is not changed. Stop all servers of the source
    first: the directory must not be in use, and changes that servers on PostgreSQL make meanwhile may be
    missing. Afterwards serve the copy, and no longer the source.`,
  options: OPTIONS,
  notes: 'Exit code 0: the copy is complete and verified; 1: it is not; 2: a usage error.',
  details: [PLACE_ENVIRONMENT],
}

/** Runs `rowstash move`. @throws {ProgramFailure} */
export async function runMove(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: OPTIONS,
  })
  const { directory, place, isInto } = parseEnds(values, io.env)
  const began = Date.now()
  const moved = isInto ? await moveIn(directory, place, io) : await moveOut(place, directory, io)
  const { records, objects, bytes } = moved
  const target = isInto ? `PostgreSQL at ${shownPlace(place)}` : resolve(directory)
  const seconds = ((Date.now() - began) / 1_000).toFixed(1)
  const text = `${records} records and ${objects} objects of ${bytes} bytes are in ${target}, verified`
  printResult(io, values.json, { records, objects, bytes, target }, text)
  io.warn(
    `It took ${seconds} s. Versions begin 2^32 above those of the source. The source must no longer be served`,
  )
}

type Ends = Readonly<{ directory: string; place: PostgresPlace; isInto: boolean }>

type EndValues = Readonly<Partial<Record<'from' | 'to' | 's3', string | undefined>>>

/** @throws {ProgramFailure} usage */
function parseEnds({ from, to, s3 }: EndValues, env: CommandIo['env']): Ends {
  const isInto = from !== undefined && !isPostgresUrl(from)
  const directory = isInto ? from : to
  const url = isInto ? to : from
  if (
    directory === undefined ||
    isPostgresUrl(directory) ||
    (url !== undefined && !isPostgresUrl(url))
  ) {
    const problem = 'One of --from and --to must be a directory, and the other a postgres:// URL'
    throw new ProgramFailure('usage', problem)
  }
  const option = isInto ? '--to' : '--from'
  const postgres = url === undefined ? undefined : [url]
  const place = parsePostgresPlace({ postgres, s3 }, env, { option })
  if (place !== null) return { directory, place, isInto }
  throw new ProgramFailure(
    'usage',
    `Specify the postgres:// URL with ${option} or ROWSTASH_POSTGRES`,
  )
}

function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:/.test(text)
}

/** From PostgreSQL into a new directory, which appears when the copy is verified. */
async function moveOut(
  place: PostgresPlace,
  directory: string,
  io: CommandIo,
): Promise<RestoreResult> {
  const { signal } = io
  const source = await openExistingStore(place, io)
  try {
    return await restoreDirectory(directory, source.backup({ signal }), {
      signal,
      keepStashes: true,
    })
  } finally {
    await source.close()
  }
}

/** From a directory into PostgreSQL, where the store cannot be opened until the copy is verified. */
async function moveIn(
  directory: string,
  place: PostgresPlace,
  io: CommandIo,
): Promise<RestoreResult> {
  const source = await openExistingStore(directory, io).catch((failure: unknown) => {
    if (!isStoreError(failure) || failure.code !== 'STORE_LOCKED') throw failure
    const advice = 'stop the server first: the copy would miss its later changes'
    throw new ProgramFailure('failed', `${failure.message}; ${advice}`, { cause: failure })
  })
  const target = new Target(place, io)
  try {
    const open = (versionBase: number) => target.open(versionBase)
    const backup = source.backup({ signal: io.signal })
    const restored = await restoreBackup(backup, { open, keepStashes: true })
    await target.finish()
    return restored
  } catch (failure) {
    if (target.isFilling) io.warn(`rowstash: ${incomplete(place)}`)
    throw failure
  } finally {
    await target.close()
    await source.close()
  }
}

function incomplete({ s3, schema }: PostgresPlace): string {
  const bucket =
    s3 === null ? '' : `, and delete what is below ${s3.keyPrefix ?? ''} in ${s3.bucket}`
  const remains = 'The target contains a part of the store, which cannot be opened'
  return `${remains}; before another attempt, drop the schema ${schema ?? 'rowstash'}${bucket}`
}

/** The empty target store in PostgreSQL. */
class Target {
  /** Whether it is marked as incomplete. */
  isFilling = false
  readonly #place: PostgresPlace
  readonly #io: CommandIo
  #ports: SharedPorts | undefined

  constructor(place: PostgresPlace, io: CommandIo) {
    this.#place = place
    this.#io = io
  }

  /** See `RestoreTarget.open`. */
  async open(versionBaseMin: number): Promise<SharedPorts> {
    const warn = (message: string): void => this.#io.warn(`rowstash: ${message}`)
    const found = await openSharedPorts(this.#place, { warn })
    try {
      await checkTargetEmpty(found) // Before the version base is raised, which stops an existing store's servers.
    } finally {
      await closePorts(found)
    }
    this.#ports = await openSharedPorts(this.#place, { warn: () => undefined, versionBaseMin })
    await this.#mark(true)
    return this.#ports
  }

  /** Verifies the copy, and then allows it to be opened. @throws {StoreError} DATA_CORRUPT */
  async finish(): Promise<void> {
    if (this.#ports === undefined) return
    await verifyRestored(this.#ports, this.#io.signal)
    await this.#mark(false)
  }

  async close(): Promise<void> {
    if (this.#ports !== undefined) await closePorts(this.#ports)
  }

  async #mark(isFilling: boolean): Promise<void> {
    await markFilling({ ...optionsOf(this.#place), onWarning: () => undefined }, isFilling)
    this.isFilling = isFilling
  }
}

const FIRST_RECORD = { start: new Uint8Array(0), limit: Uint8Array.of(0xff), count: 1 }

/** @throws {ProgramFailure} */
async function checkTargetEmpty({ kv, objects }: SharedPorts): Promise<void> {
  const records = await kv.partition('').read((view) => view.scan(FIRST_RECORD))
  const hasObjects = (await objects.list('')).length > 0
  if (records.length === 0 && !hasObjects) return
  const what = records.length > 0 ? 'already has a store' : 'already has objects of a store'
  throw new ProgramFailure('failed', `The target ${what}; move into an empty schema and prefix`)
}
