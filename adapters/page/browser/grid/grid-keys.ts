// How keys move the active cell, by the ARIA practices for grids.

export type Place = Readonly<{
  /** -1: the header. */
  row: number
  column: number
}>

export type GridBounds = Readonly<{ rows: number; columns: number; page: number }>

/** @returns the new place, or undefined if the key moves nothing */
export function keyMove(
  { key, ctrlKey, metaKey }: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey'>,
  { row, column }: Place,
  { rows, columns, page }: GridBounds,
): Place | undefined {
  const isWhole = ctrlKey || metaKey
  const at = (toRow: number, toColumn: number): Place => ({
    // While rows load, their number is 0, and the position stays.
    row: Math.max(-1, Math.min(toRow, Math.max(row, rows - 1))),
    column: Math.max(0, Math.min(toColumn, columns - 1)),
  })
  switch (key) {
    case 'ArrowDown':
      return at(row + 1, column)
    case 'ArrowUp':
      return at(row - 1, column)
    case 'ArrowLeft':
      return at(row, column - 1)
    case 'ArrowRight':
      return at(row, column + 1)
    case 'PageDown':
      return at(row + page, column)
    case 'PageUp':
      return at(Math.max(0, row - page), column)
    case 'Home':
      return at(isWhole ? 0 : row, 0)
    case 'End':
      return at(isWhole ? Number.POSITIVE_INFINITY : row, columns - 1)
    default:
      return undefined
  }
}
