// A file's content, and what it means.
import type { Source } from './ways.js'

export type FileCase = Readonly<{
  /** Text in UTF-8, or bytes. */
  bytes: string | Uint8Array<ArrayBuffer>
  /** Options that the file always needs. Default: none. */
  given?: Source['said']
}> &
  (
    | Readonly<{
        /** The columns with their kinds, and the cells; null is an empty cell. */
        columns: string
        rows: readonly (readonly unknown[])[]
        /** Format, encoding, delimiter, and the line of the header or a hyphen. */
        read: string
        /** Codes of advice, with columns and counts. Default: none. */
        told?: readonly string[]
        /** A part of the refusal's message, for the ways that refuse the file. */
        refusedBy?: Readonly<Record<string, string>>
        /** Options that read the file the same without detection. Default: those of `given`. */
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
     * The result without detection and without options: the same; or its columns; or a part of the refusal's message.
     * Default: not checked, because the file needs options.
     */
    plain?: string
    /** The result of a POST, if it is a different refusal. */
    posted?: string
  }>

export function latin1(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(text, 'latin1'))
}

export function utf16(text: string, order?: 'swapped'): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.from(text, 'utf16le')
  return Uint8Array.from(order === undefined ? bytes : bytes.swap16())
}
