// Positions of a generation, in the order of its rows.
import type { Position } from '../../format/keys.js'
import type { Generation } from '../../format/records.js'

export function comparePositions(left: Position, right: Position): number {
  return left.extent - right.extent || left.slot - right.slot
}

/** The position after the last row of a generation. Rows from this position on belong to later versions. */
export function endOf({ open, nextExtent }: Generation): Position {
  return open === null
    ? { extent: nextExtent, slot: 0 }
    : { extent: open.extent, slot: open.nextSlot }
}
