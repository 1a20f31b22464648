// The operation that deletes everything of a team, and what must hold when it has ended.
import { damageOf } from '../../support/damage.js'
import { expectEqual, Mismatch, show } from '../model/operation.js'
import { leftRecords } from '../model/wiped-team.js'
import { deleteTable } from './life-operations.js'
import { type DiskJudge, deleteStash, type SimOperation } from './operations.js'
import type { ModelTable, Oracle } from './oracle.js'
import { OTHER_TEAM, type SimWorld, TEAM } from './world.js'

/** Each table, stash and file disappears at some moment of it; if it fails, perhaps. */
export function deleteAll(world: DiskJudge, oracle: Oracle): SimOperation {
  const before = [...oracle.files.keys()]
  return {
    text: 'delete everything',
    table: null,
    run: ({ team }) => team.deleteAll(),
    apply: (state) => [state],
    settle: (outcome) => {
      if (outcome.kind === 'failed' && !world.isOfDisk(outcome.failure)) {
        throw new Mismatch(`Everything is to be deleted: ${show(outcome.failure)}`)
      }
      if (outcome.kind === 'done') for (const id of before) oracle.files.delete(id)
      oracle.doubtFiles()
    },
    parts: () => [
      ...oracle.tables.filter(mayBeMade).map((table): SimOperation => {
        const deletion = deleteTable(world, table, undefined)
        // One that does not exist yet stays.
        const apply: SimOperation['apply'] = (state, outcome) =>
          state === null ? [null] : deletion.apply(state, outcome)
        return { ...deletion, apply }
      }),
      ...[...oracle.stashes.values()].map(deleteStash),
    ],
  }
}

function mayBeMade({ id, possible }: ModelTable): boolean {
  return id === null || possible.some(({ state, pending }) => state !== null || pending.length > 0)
}

/** After a deletion of everything while nothing else ran: nothing is left, and nothing is damaged. */
export async function checkWiped(world: SimWorld): Promise<void> {
  const left = await world.outcomeOf(() => leftRecords(world.kv, TEAM))
  if (left.kind === 'done') expectEqual('what is left of the team', left.value, [])
}

/** Everything that a failure has left is complete. */
export async function checkUndamaged(world: SimWorld): Promise<void> {
  const found = await world.outcomeOf(() => damageOf(world.store))
  if (found.kind === 'done') expectEqual('the damage that a verification finds', found.value, [])
}

const OTHER_ROWS = [1, 2, 3].map((n) => ({ n, v: `row ${n}` }))
const CONTENT = 'of another team'

/** Another team, whose table and file nothing may change. */
export class TeamBeside {
  readonly #world: SimWorld
  #tableId = ''
  #fileId = ''

  constructor(world: SimWorld) {
    this.#world = world
  }

  get #team() {
    return this.#world.store.team(OTHER_TEAM)
  }

  /** Nothing fails yet. */
  async make(): Promise<void> {
    const about = { fileName: 'a.txt', contentType: 'text/plain' }
    const { id } = await this.#team.files.put(CONTENT, about)
    const rows = [...OTHER_ROWS, { n: 4, v: id }] // A file that a row names is kept.
    const { tableId } = await this.#team.createTable({ name: 'beside', rows })
    this.#fileId = id
    this.#tableId = tableId
  }

  async check(): Promise<void> {
    const found = await this.#world.outcomeOf(async () => {
      const rows: unknown[] = []
      for await (const { $rowID: _, ...cells } of this.#team.table(this.#tableId).scan()) {
        rows.push(cells)
      }
      const pieces: Uint8Array[] = []
      const file = await this.#team.files.get(this.#fileId)
      for await (const piece of file?.stream() ?? []) pieces.push(piece)
      return { rows, content: Buffer.concat(pieces).toString() }
    })
    if (found.kind === 'unknown') return
    if (found.kind === 'failed') {
      if (this.#world.isOfDisk(found.failure)) return
      throw new Mismatch(`Another team cannot be read: ${show(found.failure)}`)
    }
    const rows = [...OTHER_ROWS, { n: 4, v: this.#fileId }]
    expectEqual('what another team has', found.value, { rows, content: CONTENT })
  }

  async end(): Promise<void> {
    await this.#team.deleteAll()
    expectEqual('what is left of it', await leftRecords(this.#world.kv, OTHER_TEAM), [])
  }
}
