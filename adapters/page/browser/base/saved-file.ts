// Writes a stream into a file on the person's machine.
import { el } from './dom.js'
import * as TEXT from './texts.js'

/** The maximum size of a file, in bytes, in a browser that cannot write files: it holds the file before it saves it. */
const HELD_BYTES_MAX = 1_000_000_000
/** Pieces are joined up to this many bytes before they are held: browsers keep joined ones on disk. */
const PART_BYTES = 8_000_000

type Picker = (options: Readonly<{ suggestedName: string }>) => Promise<FileSystemFileHandle>

/** Where to write a file. Browsers ask the person where, which they allow only while they handle a click. */
export async function chooseFile(name: string): Promise<WritableStream<Uint8Array<ArrayBuffer>>> {
  const { showSaveFilePicker: pick } = globalThis as { showSaveFilePicker?: Picker }
  if (pick === undefined) return heldFile(name)
  return (await pick({ suggestedName: name })).createWritable()
}

/** Holds a file, then downloads it. For browsers without a picker, and pages from neither HTTPS nor this machine. */
function heldFile(name: string): WritableStream<Uint8Array<ArrayBuffer>> {
  let parts: Blob[] = []
  let pieces: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  let held = 0
  const putTogether = (): void => {
    parts.push(new Blob(pieces))
    pieces = []
    held = 0
  }
  return new WritableStream({
    write(piece) {
      bytes += piece.length
      held += piece.length
      if (bytes > HELD_BYTES_MAX) throw new Error(TEXT.tooLargeToHold)
      pieces.push(piece)
      if (held >= PART_BYTES) putTogether()
    },
    close() {
      putTogether()
      const url = URL.createObjectURL(new Blob(parts))
      el('a', { href: url, download: name }).click()
      setTimeout(() => URL.revokeObjectURL(url), 60_000)
      parts = []
    },
  })
}

/** A file name that all systems accept. */
export function fileName(name: string, extension: string): string {
  const safe = name.replace(/[\p{Cc}\p{Cf}\\/:*?"<>|]+/gu, '_').replace(/^[. ]+|[. ]+$/g, '')
  return `${safe.slice(0, 100) || 'table'}.${extension}`
}

/** Converts rows, one per line, to a JSON array. */
export function linesToArray(): TransformStream<Uint8Array, Uint8Array<ArrayBuffer>> {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  let before = '[\n'
  return new TransformStream({
    transform(piece, controller) {
      const text = decoder.decode(piece, { stream: true })
      if (text === '') return
      const isWhole = text.endsWith('\n')
      const rows = isWhole ? text.slice(0, -1) : text
      controller.enqueue(encoder.encode(before + rows.replaceAll('\n', ',\n')))
      before = isWhole ? ',\n' : ''
    },
    flush(controller) {
      controller.enqueue(encoder.encode(before === '[\n' ? '[]\n' : '\n]\n'))
    },
  })
}
