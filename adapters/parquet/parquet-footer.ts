// The metadata at the end of a file, encoded a few columns at a time. The writer's own `finish` encodes that of all row
// groups at once: in 60 µs a column chunk, of each of which it holds a kilobyte until then.
//
// Method: a list of Thrift's compact protocol is a header and its elements. Two encodings by the writer, one of them
// with an empty list, differ by these.
import type { FileMetaData, RowGroup, SchemaElement } from 'hyparquet'
import type { WriterPackage } from './parquet-packages.js'

/** Thrift's type of a struct. */
const STRUCT = 12

const NO_GROUP = { columns: [], num_rows: 0n, total_byte_size: 0n }
const ROOT = [{ name: 'root', num_children: 0 }]

type Described = Pick<FileMetaData, 'schema' | 'key_value_metadata' | 'created_by'>

export class ParquetFooter {
  readonly #package: WriterPackage
  readonly #groups: Uint8Array[] = []
  #rows = 0n
  /** The size of the encoded row groups. */
  bytes = 0

  constructor(writer: WriterPackage) {
    this.#package = writer
  }

  /** Encodes column chunks. @param schema - That of their columns. */
  encodeChunks(schema: SchemaElement[], { columns }: RowGroup): Uint8Array {
    const without = this.#encoded({ schema }, [NO_GROUP])
    return this.#elements(
      without,
      this.#encoded({ schema }, [{ ...NO_GROUP, columns }]),
      columns.length,
    )
  }

  /** Adds a row group. @param count - Number of its column chunks. @param group - Without its columns. */
  add(count: number, chunks: readonly Uint8Array[], group: RowGroup): void {
    const file = { schema: ROOT }
    const encoded = this.#elements(this.#encoded(file, []), this.#encoded(file, [group]), 1)
    const [head, rest] = [encoded.subarray(0, 1), encoded.subarray(2)] // Between them is an empty list.
    const bytes = Buffer.concat([head, listHeader(count), ...chunks, rest])
    this.#groups.push(bytes)
    this.#rows += group.num_rows
    this.bytes += bytes.length
  }

  /** The end of the file. */
  *end(file: Described): Generator<Uint8Array, void> {
    const without = this.#encoded(file, [], this.#rows)
    const at = firstDifference(without, this.#encoded(file, [NO_GROUP], this.#rows))
    const header = listHeader(this.#groups.length)
    const length = without.length - 1 + header.length + this.bytes
    yield Buffer.concat([without.subarray(0, at), header])
    yield* this.#groups
    const end = Buffer.from('....PAR1')
    end.writeUint32LE(length)
    yield Buffer.concat([without.subarray(at + 1), end])
  }

  #encoded(file: Described, row_groups: RowGroup[], num_rows = 0n): Uint8Array {
    const { ByteWriter, writeMetadata } = this.#package
    const bytes = new ByteWriter()
    writeMetadata(bytes, { version: 2, metadata_length: 0, ...file, num_rows, row_groups })
    return bytes.getBytes().subarray(0, -4) // The length is at the end.
  }

  /** The elements of a list of structs. @param without - The same encoding with an empty list. */
  #elements(without: Uint8Array, encoded: Uint8Array, count: number): Uint8Array {
    const at = firstDifference(without, encoded)
    return encoded.slice(at + listHeader(count).length, encoded.length - (without.length - at - 1))
  }
}

function firstDifference(one: Uint8Array, other: Uint8Array): number {
  return one.findIndex((byte, at) => byte !== other[at])
}

/** The header of a list of structs. */
function listHeader(count: number): Uint8Array {
  if (count < 15) return Uint8Array.of((count << 4) | STRUCT)
  const bytes = [0xf0 | STRUCT]
  let rest = count
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128)
  return Uint8Array.of(...bytes, rest)
}
