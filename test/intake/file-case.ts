// What a file has, and what it means.
import type { Source } from './ways.js'

export type FileCase = Readonly<{
  /** Text in UTF-8, or bytes. */
  bytes: string | Uint8Array<ArrayBuffer>
  /** What has to be said of it in any case. Default: nothing. */
  given?: Source['said']
}> &
  (
    | Readonly<{
        /** The columns with their kinds, and the cells; null is an empty one. */
        columns: string
        rows: readonly (readonly unknown[])[]
        /** Format, encoding, delimiter, and the line of the header or a hyphen. */
        read: string
        /** Codes with columns and counts. Default: none. */
        told?: readonly string[]
        /** By way, what else it answers: a part of the message of a refusal. */
        refusedBy?: Readonly<Record<string, string>>
        /** With what to say it is read so without detection. Default: nothing more than is given. */
        says?: Source['said'] | 'no option'
        refused?: undefined
      }>
    | Readonly<{
        /** A part of the message. */
        refused: string
        columns?: undefined
      }>
  ) &
  Readonly<{
    /**
     * What becomes of it without detection where nothing is said: the same; or its columns; or a part of the message of
     * the refusal. Default: it is not read so, for something is given.
     */
    plain?: string
    /** The same of a POST, if it is another refusal. */
    posted?: string
  }>

export function latin1(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(text, 'latin1'))
}

export function utf16(text: string, order?: 'swapped'): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.from(text, 'utf16le')
  return Uint8Array.from(order === undefined ? bytes : bytes.swap16())
}
