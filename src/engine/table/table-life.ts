// Changes of a table that touch no row: its name, and its end.
//
// Invariants:
// - The commit that deletes a table deletes its head and its catalog entry, retires its rows, and puts the dead table,
//   which leads the sweep to the rest. Every later commit of the table checks a head that is gone.
// - Scans under way have pinned the generation that is retired, and read on by its nonce.
import { deadTableKey, encodeDeadTable } from '../../format/dead-table.js'
import { catalogKey, retirementKey } from '../../format/keys.js'
import { decodeCatalogEntry, encodeCatalogEntry, encodeRetirement } from '../../format/records.js'
import type { AheadOfTurn } from '../commit/table-looks.js'
import { hintOfTable } from '../commit/work-hints.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TablePlace } from '../context/store-context.js'
import { checkIfMatch } from './if-match.js'

type IfMatch = number | bigint | undefined

/** @throws {StoreError} TABLE_NOT_FOUND, PRECONDITION_FAILED */
export function renameTable(
  place: TablePlace,
  name: string,
  ifMatch: IfMatch,
): Promise<Readonly<{ version: number }>> {
  const { team, table } = place
  const ahead: AheadOfTurn = { keys: (head) => (head === null ? [] : [catalogKey(head.order)]) }
  return team.writers.change(
    place,
    async (head, read) => {
      checkIfMatch('table', ifMatch, toPublicVersion(team, head).version)
      const key = catalogKey(head.order)
      const entry = await read(key)
      if (entry !== null && decodeCatalogEntry(entry).name === name) {
        return { result: { version: head.version } }
      }
      const puts = [[key, encodeCatalogEntry({ table, name })] as const]
      return { result: { version: head.version + 1 }, change: { next: head.generation, puts } }
    },
    ahead,
  )
}

/** @throws {StoreError} TABLE_NOT_FOUND, PRECONDITION_FAILED */
export async function deleteTable(place: TablePlace, ifMatch: IfMatch): Promise<void> {
  const { team, table } = place
  await team.writers.change(place, (head) => {
    const { order, version, generation } = head
    checkIfMatch('table', ifMatch, toPublicVersion(team, head).version)
    const now = team.options.clock.now()
    const retirement = encodeRetirement({
      dropping: false,
      lastVersion: version,
      retiredAt: now,
      generation,
    })
    const puts = [
      [retirementKey(table, generation.firstExtent), retirement] as const,
      [deadTableKey(table), encodeDeadTable(now)] as const,
      ...hintOfTable(team, table, version + 1),
    ]
    return { result: undefined, change: { next: null, puts, deletes: [catalogKey(order)] } }
  })
}
