// The bytes that a team stores, by kind, as sums over its lists: a store without maintenance has not counted them.
import type { Api } from './api.js'

/** The maximum number of concurrent requests. */
const REQUESTS_MAX = 6
/** The maximum number of tables, and of pages of files, that are requested. A kind with more is omitted. */
const TABLES_MAX = 1_000
const PAGES_MAX = 100

/** Bytes by kind. A kind that the key may not list is omitted. */
export async function bytesByKind(
  api: Api,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const kinds = {
    rows: () => bytesOfTables(api, signal),
    stashes: async () => sumBytes(await api.stashes(signal)),
    files: () => bytesOfFiles(api, signal),
    uploads: async () => sumBytes(await api.uploads(signal)),
  }
  const found = await Promise.all(
    Object.entries(kinds).map(async ([kind, read]) => {
      const bytes = await read().catch(() => undefined)
      return bytes === undefined ? [] : [[kind, bytes] as const]
    }),
  )
  return new Map(found.flat())
}

async function bytesOfTables(api: Api, signal: AbortSignal): Promise<number | undefined> {
  const tables = await api.tables(signal)
  if (tables.length > TABLES_MAX) return undefined
  let bytes = 0
  await runForEach(tables, async ({ id }) => {
    const table = await api.info(id, signal) // awaited before `bytes` is read: others add to it meanwhile
    bytes += table.bytes
  })
  return bytes
}

async function bytesOfFiles(api: Api, signal: AbortSignal): Promise<number | undefined> {
  let bytes = 0
  let continuation: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const { data, continuation: next } = await api.files(continuation, signal)
    bytes += sumBytes(data)
    if (next === undefined) return bytes
    continuation = next
  }
  return undefined
}

function sumBytes(parts: readonly Readonly<{ bytes?: number }>[]): number {
  return parts.reduce((all, { bytes = 0 }) => all + bytes, 0)
}

/** Runs work for all items, some concurrently. */
export async function runForEach<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values()
  const worker = async (): Promise<void> => {
    for (const item of waiting) await work(item)
  }
  await Promise.all(Array.from({ length: REQUESTS_MAX }, worker))
}
