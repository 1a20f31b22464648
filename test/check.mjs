// `npm run check`: lint, format and types of the whole project. Both tools run at once.
//
// tsc keeps its results in node_modules/.cache, and checks a file again if it or the declarations that it imports have
// changed. For this it writes declarations: with --noEmit it compares texts, and the first change in a file would have
// every importing file checked again (18 s instead of 7).
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

const ROOT = join(import.meta.dirname, '..')
const CACHE = join(ROOT, 'node_modules/.cache/rowstash-check')
const COLORS = process.stdout.isTTY ? [] : ['--colors=off']
const INCREMENTAL = [
  ...['--incremental', '--tsBuildInfoFile', join(CACHE, 'declarations.json')],
  ...['--noEmit', 'false', '--declaration', '--emitDeclarationOnly'],
]
const TOOLS = [
  ['@biomejs/biome/bin/biome', 'ci', '.', ...COLORS],
  ['typescript/bin/tsc', ...INCREMENTAL, '--outDir', join(CACHE, 'declarations')],
]

/** Runs a tool of node_modules. @returns its exit code. */
function run([program, ...args]) {
  const path = join(ROOT, 'node_modules', program)
  const child = spawn(process.execPath, [path, ...args], { cwd: ROOT, stdio: 'inherit' })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
}

mkdirSync(CACHE, { recursive: true })
const codes = await Promise.all(TOOLS.map(run))
process.exitCode = codes.every((code) => code === 0) ? 0 : 1
