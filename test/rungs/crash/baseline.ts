// Plain LevelDB, used in a common way. What the harness finds there shows what it can find.
import { ClassicLevel } from 'classic-level'
import { fillerText } from './rows.js'

export type BaselineJob = Readonly<{
  directory: string
  generations: number
  blocks: number
}>

export const HEAD_KEY = 'head'
const BLOCK_BYTES = 6_000

export function blockKey(generation: number, block: number): string {
  return `block/${generation}/${block}`
}

export function blockText(generation: number, block: number): string {
  return fillerText(blockKey(generation, block), BLOCK_BYTES)
}

/** @returns whether the database opens, with everything acknowledged and everything that its head names */
export async function isBaselineWhole(
  directory: string,
  { output, blocks }: Readonly<{ output: string; blocks: number }>,
): Promise<boolean> {
  const lines = output.split('\n').slice(0, -1)
  const acknowledged = JSON.parse(lines.at(-1) ?? '{"generation":-2}') as { generation: number }
  const database = new ClassicLevel<string, string>(directory, { createIfMissing: false })
  try {
    await database.open()
    const generation = Number((await database.get(HEAD_KEY)) ?? -1)
    if (generation < acknowledged.generation) return false
    if (generation < 0) return true
    for (let block = 0; block < blocks; block++) {
      const found = await database.get(blockKey(generation, block))
      if (found !== blockText(generation, block)) return false
    }
    return true
  } catch {
    return acknowledged.generation < 0 // cut while it was created: nothing was acknowledged yet
  } finally {
    await database.close()
  }
}
