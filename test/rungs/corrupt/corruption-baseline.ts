// Does the damage of corruption.ts to a plain LevelDB database, and reads it in the ordinary way.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ClassicLevel } from 'classic-level'
import { type Seeded, seeded } from '../../support/seeded.js'
import { DAMAGES, damageFile, filesByKind } from './corruption.js'

const RECORDS = 2_000

const run = promisify(execFile)

/** Incompressible values, half of them in a table and half in the log. */
export async function makeBaseline(place: string): Promise<void> {
  for (const part of ['kv', 'older']) {
    await mkdir(join(place, part, 'kv'), { recursive: true })
    await fill(join(place, part, 'kv'), 0, RECORDS / 2)
  }
  await fill(join(place, 'kv', 'kv'), RECORDS / 2, RECORDS)
}

async function fill(folder: string, from: number, to: number): Promise<void> {
  const level = new ClassicLevel<string, Uint8Array>(folder, { valueEncoding: 'view' })
  await level.open()
  for (let at = from; at < to; at++) await level.put(keyOf(at), contentOf(at))
  await level.close()
}

function keyOf(record: number): string {
  return `record ${String(record).padStart(6, '0')}`
}

function contentOf(record: number): Uint8Array {
  const random = seeded(record + 1)
  return Uint8Array.from({ length: 100 }, () => random.below(256))
}

/** Flips one bit of a table file: LevelDB serves what nobody checks. */
export async function baselineFlip(
  place: string,
  random: Seeded,
): Promise<'silent' | 'told' | 'harmless'> {
  return damaged(place, async (copy) => {
    const tables = (await filesByKind(copy)).get('ldb') ?? []
    return damageFile(copy, random.pick(tables), 'bit', random, [])
  })
}

/** `silent`: other data than was stored was read, or less, without any error. */
export async function baselineTrial(
  place: string,
  random: Seeded,
): Promise<'silent' | 'told' | 'harmless'> {
  return damaged(place, async (copy) => {
    const kinds = await filesByKind(copy)
    const olderKinds = await filesByKind(join(place, 'older'))
    const kind = random.pick([...kinds.keys()])
    const older = (olderKinds.get(kind) ?? []).map((name) => join(place, 'older', name))
    const path = random.pick(kinds.get(kind) ?? [])
    const damage = random.pick(older.length === 0 ? DAMAGES.slice(0, -1) : DAMAGES)
    return damageFile(copy, path, damage, random, older)
  })
}

/** @param damage - Damages a copy; null: it left the copy unchanged. */
async function damaged(
  place: string,
  damage: (copy: string) => Promise<string | null>,
): Promise<'silent' | 'told' | 'harmless'> {
  const copy = join(place, 'trial')
  await cp(join(place, 'kv'), copy, { recursive: true })
  try {
    if ((await damage(copy)) === null) return 'harmless'
    return await readAll(join(copy, 'kv'))
  } finally {
    await rm(copy, { recursive: true })
  }
}

/** In a separate process, because some damage makes LevelDB end it. */
async function readAll(folder: string): Promise<'silent' | 'told' | 'harmless'> {
  const script = fileURLToPath(new URL('./read-level.mjs', import.meta.url))
  const { stdout } = await run(process.execPath, [script, folder]).catch(() => ({ stdout: '' }))
  if (stdout === '') return 'told' // by an error, or by the end of the process
  const found = createHash('sha256')
  for (let record = 0; record < RECORDS; record++)
    found.update(keyOf(record)).update(contentOf(record))
  return stdout === found.digest('hex') ? 'harmless' : 'silent'
}
