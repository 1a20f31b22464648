// Prints a digest of everything that a plain LevelDB database returns, or fails: node read-level.mjs FOLDER
import { createHash } from 'node:crypto'
import process from 'node:process'
import { ClassicLevel } from 'classic-level'

const level = new ClassicLevel(process.argv[2], { valueEncoding: 'view', createIfMissing: true })
await level.open()
const found = createHash('sha256')
for await (const [key, value] of level.iterator()) found.update(key).update(value)
await level.close()
process.stdout.write(found.digest('hex'))
