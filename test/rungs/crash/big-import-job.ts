import { fillerText } from './rows.js'

export type BigImportJob = Readonly<{
  directory: string
  /** The serials of the acknowledged chunks, one per line. */
  doneFile: string
  chunks: number
  chunkRows: number
}>

export const BIG_TEAM = 'big'
export const BIG_STASH = 'big-import'
export const BIG_TABLE = 'imported'

const TEXT = fillerText('big', 65_536)
const TEXT_BYTES = 100

/** The text of a row by its number: a slice of one long text. */
export function bigText(row: number): string {
  const at = (row * 37) % (TEXT.length - TEXT_BYTES)
  return TEXT.slice(at, at + TEXT_BYTES)
}

export function chunkBytes(serial: number, chunkRows: number): Uint8Array {
  const rows = Array.from({ length: chunkRows }, (_, index) => {
    const row = serial * chunkRows + index
    return `{"k":${row},"half":${row / 2},"t":"${bigText(row)}"}`
  })
  return new TextEncoder().encode(`[${rows.join(',')}]`)
}
