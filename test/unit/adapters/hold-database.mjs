// A child process that opens a LevelDB database, tells its parent, and holds it until it is killed.
import process from 'node:process'
import { ClassicLevel } from 'classic-level'

const database = new ClassicLevel(process.argv[2], { createIfMissing: false })
await database.open()
process.send('open')
process.on('message', () => process.exit(0))
