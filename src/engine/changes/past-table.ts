// A table at an earlier version. Its pages and point reads work as those of the table do, but on the records of that
// version.
import { sameBytes } from '../../base/bytes.js'
import { type DisposableIterator, disposable } from '../../base/disposable.js'
import { checkNotAborted } from '../../base/signals.js'
import { renderContinuation } from '../../format/continuation-token.js'
import type { Position } from '../../format/keys.js'
import { renderRowObject } from '../../format/row-text.js'
import type { KvView } from '../../kv/kv.js'
import type { TableSchema } from '../../schema/column-kind.js'
import { parseRendered } from '../../schema/parse-rendered.js'
import {
  checkArguments,
  checkNumbers,
  checkReadOptions,
  checkSignal,
  checkText,
} from '../arguments/arguments.js'
import { versionBase } from '../context/public-versions.js'
import type { TablePlace } from '../context/store-context.js'
import { continuationInvalid } from '../read/generations.js'
import {
  type ChosenPage,
  chosenPage,
  type PageStart,
  parsePageToken,
  planOpenPage,
  readPage,
  resolvePageStart,
  rowsOfPage,
} from '../read/open-page.js'
import { planPage } from '../read/page-reader.js'
import { decodePage, walkPages } from '../read/page-walk.js'
import { findRow } from '../read/row-lookup.js'
import type { PastScanOptions, PastTable } from '../types/history-types.js'
import type { Page, PageRequest, ReadOptions, ReadResult, RowWithId } from '../types/read-types.js'
import type { ReadJsonResult } from '../types/store-types.js'
import { findPast, type Past, recordVersion } from './past-generation.js'

/** Number of rows that a scan reads together. */
const SCAN_ROWS = 1_000

export class TableAtVersion implements PastTable {
  readonly version: number
  readonly #place: () => TablePlace

  /** @param place - Throws if the ID of the table is invalid. */
  constructor(place: () => TablePlace, version: number) {
    this.version = version
    this.#place = place
  }

  async get(rowId: string, options?: ReadOptions): Promise<ReadResult | null> {
    const numbers = checkReadOptions('get', options)
    checkText('A row ID', rowId)
    const found = await this.#find(rowId)
    if (found === null) return null
    const row = parseRendered(renderRowObject(rowId, found.text), numbers) as RowWithId
    return { row, version: this.#publicVersion(found) }
  }

  async getJson(rowId: string): Promise<ReadJsonResult | null> {
    checkText('A row ID', rowId)
    const found = await this.#find(rowId)
    if (found === null) return null
    return { json: renderRowObject(rowId, found.text), version: this.#publicVersion(found) }
  }

  async page(request: PageRequest = {}): Promise<Page> {
    checkArguments('page', request, ['limit', 'continuation', 'numbers'])
    const numbers = checkNumbers(request.numbers)
    const { limit, continuation } = request
    return this.#pageFrom(limit, continuation, numbers)
  }

  scan(options: PastScanOptions = {}): DisposableIterator<RowWithId> {
    return disposable(this.#scan(options))
  }

  async *#scan(options: PastScanOptions): AsyncGenerator<RowWithId, void> {
    checkArguments('scan', options, ['numbers', 'signal'])
    const numbers = checkNumbers(options.numbers)
    yield* this.#walk(undefined, numbers, checkSignal(options.signal))
  }

  /** The rows from a position on. */
  async *from(position: Position, options?: ReadOptions): AsyncGenerator<RowWithId, void> {
    const numbers = checkReadOptions('rows', options)
    const token = await this.#read(({ team, table }, { generation: { nonce } }) => {
      return renderContinuation({ table, generation: nonce, position }, versionBase(team))
    })
    yield* this.#walk(token, numbers)
  }

  schema(): Promise<TableSchema> {
    return this.#read(async ({ team, table }, { view, generation }) => {
      const read = (key: Uint8Array) => view.get(key)
      return (await team.schemas.get(table, generation.schemaNumber, read)).schema
    })
  }

  async *#walk(
    first: string | undefined,
    numbers: ReturnType<typeof checkNumbers>,
    signal?: AbortSignal,
  ): AsyncGenerator<RowWithId, void> {
    const read = async (token: string | undefined): Promise<Page> => {
      checkNotAborted('search', signal)
      return this.#pageFrom(SCAN_ROWS, token, numbers)
    }
    for await (const rows of walkPages<string | undefined>(read, first, false)) yield* rows
  }

  #pageFrom(
    limit: number | undefined,
    continuation: string | undefined,
    numbers: ReturnType<typeof checkNumbers>,
  ): Promise<Page> {
    const place = this.#place()
    const { team } = place
    return team.lifecycle.run(async () => {
      const rows = rowsOfPage(team, limit)
      const token = parsePageToken(team, continuation)
      const chosen = await choosePastPage(place, this.version, { token, rows })
      return decodePage(await readPage(chosen, undefined), numbers)
    })
  }

  #find(rowId: string): ReturnType<typeof findRow> {
    return this.#read(({ team, table }, { view, generation }) =>
      findRow(team, (key) => view.get(key), table, generation, rowId),
    )
  }

  #publicVersion({ version }: Readonly<{ version: number }>): number {
    return version + versionBase(this.#place().team)
  }

  #read<T>(use: (place: TablePlace, past: Past) => T | Promise<T>): Promise<T> {
    const place = this.#place()
    const { team } = place
    return team.lifecycle.run(() => {
      const own = recordVersion(team, this.version)
      return team.partition.read(async (view: KvView) =>
        use(place, await findPast(place, view, own)),
      )
    })
  }
}

/** Selects a page of a version. @throws {StoreError} HISTORY_GONE, CONTINUATION_INVALID */
export async function choosePastPage(
  place: TablePlace,
  version: number,
  { token, rows, ...bounds }: Omit<PageStart, 'pinned' | 'view'>,
): Promise<ChosenPage> {
  const { team, table } = place
  const own = recordVersion(team, version)
  const plan = await planOpenPage(team, async (view, footers) => {
    const past = await findPast(place, view, own)
    const { generation } = past
    const isOfRows =
      token === undefined ||
      (token !== null &&
        sameBytes(token.table, table) &&
        sameBytes(token.generation, generation.nonce))
    if (!isOfRows) throw continuationInvalid('it belongs to the rows of another version')
    const page = { ...bounds, from: resolvePageStart(token, generation), limit: rows }
    return planPage(team, past.view, table, past, page, footers)
  })
  const forward = await team.forwards.of(plan.generation)
  return chosenPage(place, { ...plan, forward }, rows, own)
}
