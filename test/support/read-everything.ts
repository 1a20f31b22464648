// Makes every possible query to a store, so that its answers can be compared with the right ones.
import type { Store, Table, Team } from '../../src/index.js'
import { isStoreError } from '../../src/index.js'
import { textOf } from '../conformance/store/upload-request.js'
import { RICH_TEAMS } from './rich-store.js'

/** Queries and their answers. An answer is text, or `error CODE`. */
export type Answers = ReadonlyMap<string, string>

/** The codes of a store that reports that it cannot answer. */
const HONEST: ReadonlySet<string> = new Set([
  'DATA_CORRUPT',
  'DATA_LOSS',
  'STORAGE_UNAVAILABLE',
  'FORMAT_UNKNOWN',
])

/** The IDs of everything in a store. */
export type Known = Readonly<{
  tables: readonly Readonly<{ team: string; id: string; rowIds: readonly string[] }>[]
  files: readonly Readonly<{ team: string; id: string; bytes: number }>[]
}>

/** Rows of a table that are read one at a time. */
const ROWS_ASKED = 8

export async function knownOf(store: Store, files: Known['files']): Promise<Known> {
  const tables: Known['tables'][number][] = []
  for (const team of RICH_TEAMS) {
    for (const { id } of await store.team(team).tables()) {
      const rowIds: string[] = []
      for await (const { $rowID } of store.team(team).table(id).scan()) rowIds.push($rowID)
      const step = Math.max(1, Math.floor(rowIds.length / ROWS_ASKED))
      tables.push({ team, id, rowIds: rowIds.filter((_, i) => i % step === 0) })
    }
  }
  return { tables, files }
}

export async function askEverything(store: Store, known: Known): Promise<Answers> {
  const answers = new Map<string, string>()
  const ask = async (question: string, answer: () => Promise<unknown>): Promise<void> => {
    answers.set(question, await answerOf(answer))
  }
  for (const team of RICH_TEAMS) await ask(`tables of ${team}`, () => store.team(team).tables())
  for (const { team, id, rowIds } of known.tables) {
    const table = store.team(team).table(id)
    await ask(`version of ${id}`, () => table.version())
    await ask(`schema of ${id}`, () => table.schema())
    await askPages(ask, id, table)
    for (const rowId of rowIds) await ask(`row ${rowId}`, () => table.get(rowId))
  }
  for (const { team, id, bytes } of known.files) {
    const half = { start: bytes >> 1, limit: (bytes >> 1) + 100 }
    await ask(`file ${id}`, () => readFile(store.team(team), id))
    await ask(`range of ${id}`, () => readFile(store.team(team), id, half))
  }
  return answers
}

type Ask = (question: string, answer: () => Promise<unknown>) => Promise<void>

async function askPages(ask: Ask, id: string, table: Table): Promise<void> {
  let continuation: string | undefined
  for (let page = 0; page === 0 || continuation !== undefined; page++) {
    const request = { limit: 60, ...(continuation === undefined ? {} : { continuation }) }
    continuation = undefined
    await ask(`page ${page} of ${id}`, async () => {
      const found = await table.page(request)
      continuation = found.continuation
      return found
    })
  }
}

async function readFile(
  team: Team,
  id: string,
  range?: Readonly<{ start: number; limit: number }>,
): Promise<string> {
  const file = await team.files.get(id)
  return file === null ? 'no such file' : await textOf(file.stream(range))
}

async function answerOf(answer: () => Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await answer())
  } catch (failure) {
    if (isStoreError(failure)) return `error ${failure.code}: ${failure.message}`
    throw failure
  }
}

/** Queries with an answer that is neither right nor one of these errors. */
export function wrongAnswers(right: Answers, given: Answers): string[] {
  const wrong: string[] = []
  const stopped = new Set<string>() // walks that ended in an error request no further page
  for (const [question, expected] of right) {
    const walk = question.replace(/^page \d+ /, '')
    const answer = given.get(question)
    if (answer === undefined && stopped.has(walk)) continue
    if (answer === expected) continue
    const [, code = ''] = /^error (\w+): ./.exec(answer ?? '') ?? []
    if (HONEST.has(code)) stopped.add(walk)
    else wrong.push(`${question}: ${(answer ?? 'not asked').slice(0, 100)}`)
  }
  for (const question of given.keys()) if (!right.has(question)) wrong.push(question)
  return wrong
}
