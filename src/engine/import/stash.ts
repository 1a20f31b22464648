// Stashes: chunks of rows that are put in parallel and used later by one table operation.
import { isSync } from '../../base/awaitable.js'
import { toHex } from '../../base/bytes.js'
import { checkNotAborted } from '../../base/signals.js'
import { StoreError } from '../../base/store-error.js'
import { chunksRange, stashHeadKey } from '../../format/keys.js'
import type { StashHead } from '../../format/records.js'
import type { KvView } from '../../kv/kv.js'
import { readAhead } from '../../kv/read-ahead.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { checkArguments, checkSerial, checkSignal } from '../arguments/arguments.js'
import { commitUntilAccepted, REFUSED } from '../commit/commit-until-accepted.js'
import { putMarkers, recordsOfMarkers } from '../commit/file-markers.js'
import { hintOfLifetime } from '../commit/work-hints.js'
import { versionBase } from '../context/public-versions.js'
import type { TeamContext } from '../context/store-context.js'
import { OWN_STASH, segmentBytes } from '../limits/team-limits.js'
import type { Abortable } from '../types/call-types.js'
import type { ChunkResult, RowsInput, Stash, StashChunk } from '../types/row-types.js'
import { abortableRows } from './abortable-rows.js'
import { withoutDialect } from './dialect-rows.js'
import { listChunks } from './list-stashes.js'
import { type PreparedRows, prepareRows } from './prepare-rows.js'
import { linesOf } from './source-lines.js'
import {
  aheadOfPut,
  firstNumber,
  type PutState,
  planDelete,
  planPut,
  readPutState,
  readStaged,
  type Staged,
} from './stash-records.js'

type PreparedChunk = Pick<PreparedRows, 'chunk' | 'files'>

export class TeamStash implements Stash {
  readonly id: string
  /**
   * What the stash had when a job began with it; undefined: there is no job, or the stash may have lost chunks before
   * the job began.
   */
  readonly staged: Staged | undefined
  readonly #team: TeamContext

  /** @param id - A checked ID of a caller, or an ID of the store's own, which no caller can have. */
  constructor(team: TeamContext, id: string, staged?: Staged) {
    this.#team = team
    this.id = id
    this.staged = this.isWhole() ? OWN_STAGED : staged
  }

  /**
   * Whether the stash has one chunk that is the whole input of an operation. Then errors count its rows without naming
   * a chunk.
   */
  isWhole(): boolean {
    return this.id.startsWith(OWN_STASH)
  }

  /** What the stash has now, for a job. */
  stagedNow(): Promise<Staged | undefined> {
    return this.#team.partition.read((view) => readStaged(view, this.id, versionBase(this.#team)))
  }

  belongsTo(team: TeamContext): boolean {
    return this.#team.teamId === team.teamId && this.#team.kv === team.kv
  }

  put(given: string | number, rows: RowsInput, options: Abortable = {}): Promise<ChunkResult> {
    return this.#team.lifecycle.runWriting(async () => {
      const serial = checkSerial(given)
      checkArguments('put', options, ['signal'])
      const signal = checkSignal(options.signal)
      await this.#team.ensureTeam()
      const checked = this.#team.limits.checkChunk(this.#team, this.id)
      if (!isSync(checked)) await checked
      const plain = withoutDialect(this.#team, rows)
      const lines = linesOf(plain)
      const prepared = prepareRows(this.#team, abortableRows(PUT, plain, signal))
      const { chunk: read, files } = await prepared.catch((failure: unknown) => {
        throw lines?.located(failure) ?? failure
      })
      const firstLine = lines?.firstLine(0, read.rowCount) ?? read.firstLine
      const chunk = { ...read, firstLine }
      const objects = chunk.segments.map(({ object }) => object)
      try {
        checkNotAborted(PUT, signal)
        await this.#commitChunk(serial, { chunk, files })
        this.#team.ids.release(objects)
        return { rows: chunk.rowCount }
      } catch (failure) {
        this.#team.ids.releaseAfter(failure, objects)
        throw failure
      }
    })
  }

  chunks(): Promise<readonly StashChunk[]> {
    return this.#team.lifecycle.run(() => listChunks(this.#team, this.id))
  }

  delete(): Promise<boolean> {
    return this.#team.lifecycle.run(async () => {
      const { partition } = this.#team
      return commitUntilAccepted(BUSY, this.#team.options.random, async () => {
        const head = await partition.read((view) => view.get(stashHeadKey(this.id)))
        if (head === null) return false
        const { ok } = await partition.commit(planDelete(this.id, head))
        if (ok) this.#team.limits.deleteStash(this.#team, this.id)
        return ok || REFUSED
      })
    })
  }

  /**
   * Adding a chunk changes nothing that other puts check, so any number run concurrently. Replacing a chunk changes the
   * head, which all puts check. So replacements take turns, and so do puts whose commit a replacement has refused.
   */
  async #commitChunk(serial: string, prepared: PreparedChunk): Promise<void> {
    if (await this.#tryPut(serial, prepared, { mayReplace: false })) return
    await this.#team.turns.run(`stash ${this.#team.teamId} ${this.id}`, () =>
      commitUntilAccepted(
        BUSY,
        this.#team.options.random,
        async () => (await this.#tryPut(serial, prepared, { mayReplace: true })) || REFUSED,
      ),
    )
  }

  /**
   * @returns whether the chunk is stored; false: another commit caused a refusal, or the put would replace a chunk,
   *   which this attempt must not
   */
  async #tryPut(
    serial: string,
    { chunk, files }: PreparedChunk,
    { mayReplace }: Readonly<{ mayReplace: boolean }>,
  ): Promise<boolean> {
    const { kv, partition, options, limits, incarnation } = this.#team
    const objects = chunk.segments.map(({ object }) => object)
    const bytes = segmentBytes(chunk.segments)
    const now = await options.clock.stampMs()
    const nonce = options.random.bytes(8)
    const fresh: StashHead = {
      nonce,
      number: firstNumber(versionBase(this.#team)),
      state: 'open',
      since: now,
    }
    const plan = async (view: KvView) => {
      const state = await readPutState(view, this.id, serial, fresh)
      if (state.reference !== null && !mayReplace) return undefined
      await this.#checkCount(view, state)
      const markers = await putMarkers((key) => view.get(key), options.random, files)
      const isNew = state.headBytes === null
      const end = now + options.stashTtlMs
      const hints = isNew ? hintOfLifetime(this.#team, 'stash', this.id, end) : []
      const stored = { chunk, putAt: now, markers, hints }
      return { state, commit: await planPut(view, this.id, serial, state, stored) }
    }
    const planAhead = async (view: KvView) => {
      const ahead = await aheadOfPut(view, this.id, serial, fresh, chunk)
      return readAhead(view, { keys: [...ahead.keys, ...recordsOfMarkers(files)] }, plan)
    }
    const planned = await partition.read(kv.shared ? planAhead : plan)
    if (planned === undefined) return false
    const { commit, state } = planned
    // This runs outside the view, because counting opens another view.
    await limits.checkChunk(this.#team, this.id, bytes, state.reference)
    const { ok } = await incarnation.commit(this.#team, objects, commit)
    if (ok) limits.storeChunk(this.#team, this.id, bytes, state.reference)
    if (ok && state.reference === null) this.#team.chunkCounts.add(toHex(state.head.nonce))
    return ok
  }

  /** Refuses one chunk too many. Concurrent puts may exceed the maximum; the use of the stash counts all. */
  async #checkCount(view: KvView, { headBytes, head, reference }: PutState): Promise<void> {
    if (headBytes === null || reference !== null) return
    const { stashChunksMax } = this.#team.options
    const count = await this.#team.chunkCounts.get(toHex(head.nonce), async () => {
      let found = 0
      const range = chunksRange(head.nonce)
      for await (const entries of scanBatches(view, range)) found += entries.length
      return found
    })
    if (count >= stashChunksMax) throw tooManyChunks(this.id, stashChunksMax)
  }
}

export function tooManyChunks(stashId: string, stashChunksMax: number): StoreError {
  return new StoreError(
    'REQUEST_VALIDATION_ERROR',
    `Stash '${stashId}' may hold at most ${stashChunksMax} chunks`,
  )
}

/** What a stash of the store's own has: one commit writes its head and its only chunk. */
const OWN_STAGED: Staged = { number: 0, chunks: 1 }

const BUSY = 'The stash is too busy'
const PUT = 'put of a chunk'
