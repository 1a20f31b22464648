// Several callers on two stores ensure one table at once, in the order that a scheduler gives their steps, perhaps up
// to a crash: there is one table, with the columns of each caller that got an answer.
import type { Scheduler } from 'fast-check'
import { FaultDisk } from '../../conformance/faults/fault-disk.js'
import { Mismatch, show } from '../model/operation.js'
import type { Turn } from './scheduled-ports.js'
import { turnsOf } from './scheduled-ports.js'
import { openTeams } from './transaction-race.js'

export type EnsureRace = Readonly<{
  /** The store of each caller, and the column that it wants. */
  callers: readonly Readonly<{ at: number; column: string }>[]
  /** Whether the table exists before, without these columns. */
  isThere: boolean
  /** The power is cut after this many steps on the ports; null: never. */
  crashAfter: number | null
  /** false: commits lose their checks, to prove that the race detects it. */
  checks: boolean
}>

const NAME = 'ensured'

const schemaOf = (columns: readonly string[]) => ({
  columns: columns.map((id) => ({ id, type: 'string' as const })),
})

/** @throws {Mismatch} if there are two tables, or one without a column that a caller was told */
export async function runEnsureRace(race: EnsureRace, scheduler: Scheduler): Promise<void> {
  const disk = new FaultDisk({ seed: 1 })
  let turn: Turn = (_, step) => step()
  let left = Number.POSITIVE_INFINITY
  const options = { inlineRowsMax: 1_000, checks: race.checks }
  const teams = await openTeams(options, disk, (text, step) =>
    turn(text, () => {
      if (left-- === 0) disk.crash('machine')
      return step()
    }),
  )
  const ensure = (at: number, columns: readonly string[]) =>
    teams[at]?.ensureTable({ name: NAME, schema: schemaOf(columns), key: ['k'] })
  if (race.isThere) await ensure(0, ['k'])
  turn = turnsOf(scheduler)
  left = race.crashAfter ?? Number.POSITIVE_INFINITY
  const running = race.callers.map(async ({ at, column }) => {
    try {
      return { id: (await ensure(at, ['k', column]))?.id, column }
    } catch (failure) {
      if (disk.isDown) return null
      throw failure
    }
  })
  const told = (await scheduler.waitFor(Promise.all(running))).filter((one) => one !== null)
  turn = (_, step) => step()
  left = Number.POSITIVE_INFINITY
  if (!disk.isDown) disk.crash('process')
  const [team] = await openTeams(options, disk, turn)
  const tables = (await team?.tables()) ?? []
  const columns = tables[0] && (await team?.table(tables[0].id).schema())?.columns
  const found = new Set(columns?.map(({ id }) => id))
  const least = told.length > 0 || race.isThere ? 1 : 0
  const isOne = tables.length === 1 || tables.length === least
  const isTold = told.every(({ id, column }) => id === tables[0]?.id && found.has(column))
  const wanted = new Set(['k', ...race.callers.map(({ column }) => column)])
  if (isOne && isTold && [...found].every((column) => wanted.has(column))) return
  throw new Mismatch(`Told ${show(told)}, but there is ${show(tables)} with ${show([...found])}`)
}
