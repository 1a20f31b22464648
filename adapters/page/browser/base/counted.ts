// A number with its noun.

/** "1 row", "2 rows". */
export function counted(count: number, shown: string, one: string, many: string): string {
  return `${shown} ${count === 1 ? one : many}`
}
