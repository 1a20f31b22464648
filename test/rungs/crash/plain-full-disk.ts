// The behavior of plain LevelDB on a full disk: a write fails, space is freed, and later writes are acknowledged with
// sync, but lost at the next open (LEVELDB.md, F7). The harness must detect that.
//
//     node plain-full-disk.js '{"folder": …, "cases": […]}'
import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { ClassicLevel } from 'classic-level'
import type { PlainFullDiskCase, PlainFullDiskJob, PlainFullDiskResult } from './full-disk-job.js'
import { fillerText } from './rows.js'

const WRITES_BEFORE = 20
const WRITES_WHILE_FULL_MAX = 5_000
const WRITES_AFTER = 20

async function runCase(folder: string, one: PlainFullDiskCase): Promise<PlainFullDiskResult> {
  const directory = join(folder, 'plain')
  const filler = join(folder, 'filler')
  const database = new ClassicLevel<string, string>(directory)
  await database.open()
  const acknowledged: string[] = []
  const put = async (name: string): Promise<boolean> => {
    try {
      await database.put(name, fillerText(name, one.valueBytes), { sync: true })
      acknowledged.push(name)
      return true
    } catch {
      return false
    }
  }
  for (let n = 0; n < WRITES_BEFORE; n++) await put(`before ${n}`)
  const { bavail, bsize } = await statfs(folder)
  await writeFile(filler, Buffer.alloc(Math.max(0, bavail * bsize - one.bytes)))
  let failed = false
  for (let n = 0; n < WRITES_WHILE_FULL_MAX && !failed; n++) failed = !(await put(`full ${n}`))
  await rm(filler)
  const before = acknowledged.length
  for (let n = 0; n < WRITES_AFTER; n++) await put(`after ${n}`)
  const acknowledgedAfter = acknowledged.length - before
  await database.close().catch(() => undefined)
  const lost = await countLost(directory, acknowledged, one)
  await rm(directory, { recursive: true, force: true })
  return { failed, acknowledgedAfter, lost }
}

async function countLost(
  directory: string,
  acknowledged: readonly string[],
  { valueBytes }: PlainFullDiskCase,
): Promise<number> {
  const database = new ClassicLevel<string, string>(directory, { createIfMissing: false })
  try {
    await database.open()
    const found = await database.getMany([...acknowledged])
    return found.filter((text, i) => text !== fillerText(acknowledged[i] ?? '', valueBytes)).length
  } catch {
    return acknowledged.length
  } finally {
    await database.close()
  }
}

async function main({ folder, cases }: PlainFullDiskJob): Promise<void> {
  for (const one of cases) console.log(JSON.stringify(await runCase(folder, one)))
}

await main(JSON.parse(process.argv[2] ?? '{}'))
