// The rounds of `rowstash torture`: starts a writer, kills it, and compares the store with what the writer reported.
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FileEntry, Store, Team } from '../../../src/index.js'
import { openDirectory } from '../../open-directory.js'
import { type CommandIo, whenAborted } from '../command/command.js'
import { ProgramFailure } from '../command/program-failure.js'
import { applyOperation, drawOperation, type LaneState, stateAfter } from './lane.js'
import { LANES, laneOf, teamOf, type WriterPlan } from './writer.js'

export type KillsReport = {
  kills: number
  /** The number of acknowledged operations. */
  commits: number
  /** The number of full verifications. */
  verified: number
  /** The problem that ended the rounds; null: none. */
  problem: string | null
}

/** The maximum life of a writer after it has opened the store, in milliseconds. */
const LIFE_MS_MAX = 1_500
/** One in this many rounds kills the writer while it opens the store. */
const OPENING_ROUNDS = 6
const OPENING_MS_MAX = 300
/** After this number of rounds, the store is verified in full and maintained. */
const ROUNDS_VERIFIED = 10
/** The maximum number of operations of a lane whose reports were lost in the pipe. */
const UNTOLD_MAX = 50
/** Time to open a store after a kill, in milliseconds. */
const WAIT_MS = 60_000

/** No other process reads the store, so released data is deleted at once. */
const CHECK_OPTIONS = { maintenance: false, orphanGraceMs: 0, waitMs: WAIT_MS } as const

export type KillsPlan = Readonly<{
  /** The directory of the new store. */
  directory: string
  seed: number
  seconds: number
  /** The arguments that start a writer. */
  writerArgs: (plan: WriterPlan) => readonly string[]
}>

/** Kills writers until the time is up, the store is damaged, or the command is interrupted. */
export async function runKills(
  { directory, seed, seconds, writerArgs }: KillsPlan,
  { signal, env }: Pick<CommandIo, 'signal' | 'env'>,
): Promise<KillsReport> {
  const report: KillsReport = { kills: 0, commits: 0, verified: 0, problem: null }
  const end = performance.now() + 1_000 * seconds
  let done: readonly number[] = Array.from({ length: LANES }, () => 0)
  for (let round = 1; report.problem === null; round++) {
    const args = writerArgs({ directory, seed, done })
    const told = await killWriter(args, done, round, { signal, env })
    report.kills++
    const isLast = performance.now() >= end || signal.aborted
    const store = await openDirectory(directory, CHECK_OPTIONS)
    try {
      const found = await findDone(store, seed, done, told)
      if ('problem' in found) report.problem = found.problem
      else {
        report.commits += found.done.reduce(
          (sum, count, lane) => sum + count - (done[lane] ?? 0),
          0,
        )
        done = found.done
        await deleteFiles(store) // No row names them: the store would delete them itself later.
        if (isLast || round % ROUNDS_VERIFIED === 0) {
          report.problem = await verifyAll(store)
          report.verified++
        }
      }
    } finally {
      await store.close()
    }
    if (isLast) break
  }
  return report
}

/** Starts a writer and kills it. @returns the number of operations done per lane, as it reported. */
async function killWriter(
  args: readonly string[],
  done: readonly number[],
  round: number,
  { signal, env }: Pick<CommandIo, 'signal' | 'env'>,
): Promise<readonly number[]> {
  const told = [...done]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  let hasEnded = false
  const closed = once(child, 'close').then(() => {
    hasEnded = true
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = `${errors}${text}`.slice(-2_000)
  })
  const isReady = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [lane, number] = line.split(' ').map(Number)
      if (line === 'ready') resolve()
      else if (lane !== undefined && number !== undefined) told[lane] = number
    })
  })
  const isOpening = round % OPENING_ROUNDS === 0
  const stopped = Promise.race([closed, whenAborted(signal)])
  if (!isOpening) await Promise.race([isReady, stopped])
  await Promise.race([sleep(randomInt(isOpening ? OPENING_MS_MAX : LIFE_MS_MAX)), stopped])
  if (hasEnded && !signal.aborted)
    throw new ProgramFailure('failed', `The writer has failed: ${errors.trim()}`)
  child.kill('SIGKILL')
  await closed
  return told
}

/** The number of operations done per lane: the reported number, or up to UNTOLD_MAX more. */
async function findDone(
  store: Store,
  seed: number,
  before: readonly number[],
  told: readonly number[],
): Promise<Readonly<{ done: number[] }> | Readonly<{ problem: string }>> {
  const done: number[] = []
  for (const [lane, count] of told.entries()) {
    const found = await readLane(store, lane)
    const expected = stateAfter(seed, lane, count, before[lane] ?? 0)
    let at = count
    while (!isSame(expected, found)) {
      if (++at > count + UNTOLD_MAX)
        return { problem: describe(lane, stateAfter(seed, lane, count, before[lane] ?? 0), found) }
      applyOperation(expected, drawOperation(seed, lane, at, expected))
    }
    done.push(at)
  }
  return { done }
}

async function readLane(store: Store, lane: number): Promise<LaneState> {
  const { team, table } = await laneOf(store, lane)
  const rows = new Map<string, string>()
  for await (const { key, value } of table.scan()) rows.set(String(key), String(value))
  const files = new Map<string, string>()
  for (const { id, fileName } of await listFiles(team)) {
    const file = await team.files.get(id)
    files.set(fileName, await new Response(file?.readable()).text())
  }
  return { rows, files }
}

async function listFiles(team: Team): Promise<readonly FileEntry[]> {
  const files: FileEntry[] = []
  let continuation: string | undefined
  do {
    const page = await team.files.list({ continuation })
    files.push(...page.files)
    continuation = page.continuation
  } while (continuation !== undefined)
  return files
}

function isSame(expected: LaneState, found: LaneState): boolean {
  return isSameMap(expected.rows, found.rows) && isSameMap(expected.files, found.files)
}

function isSameMap(expected: ReadonlyMap<string, string>, found: ReadonlyMap<string, string>) {
  return (
    expected.size === found.size &&
    [...expected].every(([name, content]) => found.get(name) === content)
  )
}

/** The difference between a lane and its expected state. */
function describe(lane: number, expected: LaneState, found: LaneState): string {
  const parts = (['rows', 'files'] as const).map((part) => {
    const lost = [...expected[part].keys()].filter((name) => !found[part].has(name)).length
    const extra = [...found[part].keys()].filter((name) => !expected[part].has(name)).length
    const changed = [...expected[part]].filter(
      ([name, content]) => found[part].has(name) && found[part].get(name) !== content,
    ).length
    return `${part}: ${lost} lost, ${extra} more, ${changed} changed`
  })
  return `Lane ${lane} differs from what was acknowledged: ${parts.join('; ')}`
}

async function deleteFiles(store: Store): Promise<void> {
  for (let lane = 0; lane < LANES; lane++) {
    const team = teamOf(store, lane)
    for (const { id } of await listFiles(team)) await team.files.delete(id)
  }
}

async function verifyAll(store: Store): Promise<string | null> {
  await store.maintain()
  const { ok, damageCount } = await store.verify({ full: true })
  return ok ? null : `The store is damaged: ${damageCount} findings; see rowstash verify`
}
