// A design that the store does not use: a generation of rows as unsynced blocks in LevelDB, then one synced record that
// names the current generation. A synced write covers only LevelDB's current log, so blocks in the previous log may be
// lost although the record is there (LEVELDB.md, F6). The harness must detect that.
//
//     node baseline-writer.js '{"directory": …}'
import process from 'node:process'
import { ClassicLevel } from 'classic-level'
import { type BaselineJob, blockKey, blockText, HEAD_KEY } from './baseline.js'
import { say } from './say.js'

const { directory, generations, blocks } = JSON.parse(process.argv[2] ?? '{}') as BaselineJob

const database = new ClassicLevel<string, string>(directory)
await database.open()
say({ generation: -1 })
for (let generation = 0; generation < generations; generation++) {
  for (let block = 0; block < blocks; block++) {
    await database.put(blockKey(generation, block), blockText(generation, block), { sync: false })
  }
  await database.put(HEAD_KEY, String(generation), { sync: true })
  say({ generation })
}
await database.close()
