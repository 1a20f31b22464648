// A process that creates, restores or backs up a store, and stops for ever before the result gets its name.
import { createReadStream } from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { backupToFile, openDirectory, restoreDirectory } from '../../../adapters/node.js'

const [what = '', target = '', source = ''] = process.argv.slice(2)

const { rename } = files

files.rename = async (from, to) => {
  if (to !== target) return rename(from, to)
  process.stdout.write('stuck')
  await new Promise<void>((resolve) => setTimeout(resolve, 2 ** 31 - 1))
}
syncBuiltinESMExports()

if (what === 'create') await openDirectory(target)
else if (what === 'restore') await restoreDirectory(target, createReadStream(source))
else await backupToFile(await openDirectory(source), target)
