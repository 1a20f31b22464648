// `npm run build`, after tsup: lets programs without fast-check compile, although declarations refer to its types.
// Without it, the generators take and return `any`.
import { readFile, writeFile } from 'node:fs/promises'

const OPTIONAL = "import fastCheck from 'fast-check';\n"
const MARK = '// @ts-ignore fast-check is an optional peer dependency\n'

const path = 'dist/testing.d.ts'
const text = await readFile(path, 'utf8')
const at = text.indexOf(OPTIONAL)
if (at < 0) throw new Error(`${path} lacks the line ${OPTIONAL}`)
await writeFile(path, text.slice(0, at) + MARK + text.slice(at))
