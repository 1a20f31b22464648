// Golden files: bytes that were reviewed once, one file per record.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Bytes, fromHex, NO_BYTES, toHex } from '../../src/base/bytes.js'

/** The hex digits of a golden file. @param written - The content of a new file, with ROWSTASH_WRITE_GOLDEN=1. */
export function golden(name: string, written: Bytes): string {
  const path = fileURLToPath(new URL(`./golden/${name}.hex`, import.meta.url))
  if (!existsSync(path) && process.env['ROWSTASH_WRITE_GOLDEN'] === '1') {
    writeFileSync(path, `${toHex(written)}\n`)
  }
  return readFileSync(path, 'utf8').trim()
}

export function goldenBytes(name: string): Bytes {
  return fromHex(golden(name, NO_BYTES)) ?? NO_BYTES
}
