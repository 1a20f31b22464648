// `npm run build`, after tsup: lets a program without fast-check compile, whose declarations name its types. The generators,
// which it cannot call, then take and return `any`.
import { readFile, writeFile } from 'node:fs/promises'

const OPTIONAL = "import fastCheck from 'fast-check';\n"
const MARK = '// @ts-ignore fast-check is an optional peer dependency\n'

const path = 'dist/testing.d.ts'
const text = await readFile(path, 'utf8')
const at = text.indexOf(OPTIONAL)
if (at < 0) throw new Error(`${path} lacks the line ${OPTIONAL}`)
await writeFile(path, text.slice(0, at) + MARK + text.slice(at))
