// The place of a planted bug. White space and comments do not count, and a file is known by the end of its path, so
// that wrapping a line, wording a comment or moving a file leaves the lists of bugs as they are.
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import ts from 'typescript'
import type { PlantedBug } from './planted-bugs.js'

const FOLDERS = ['src', 'adapters', 'test']

export type Place = Readonly<{ path: string; source: string; start: number; end: number }>

/** The one place of a bug in a checkout. @throws {Error} if there is none, or more than one. */
export function placeOf(root: string, { name, file, find }: PlantedBug): Place {
  const path = pathOf(root, file)
  const source = readFileSync(path, 'utf8')
  const places = findCode(source, find)
  const [place] = places
  if (place === undefined || places.length > 1) {
    throw new Error(
      `"${name}": the code to find stands ${places.length} times in ${file}, not once`,
    )
  }
  return { path, source, ...place }
}

function pathOf(root: string, file: string): string {
  const paths = pathsOf(root).filter((path) => path.endsWith(join(sep, file)))
  const [path] = paths
  if (path === undefined || paths.length > 1) {
    throw new Error(`${paths.length} files are named ${file}, not one: ${paths.join(', ')}`)
  }
  return path
}

/** Many bugs are in one checkout, whose files keep their names. */
const listed = new Map<string, readonly string[]>()

function pathsOf(root: string): readonly string[] {
  const paths =
    listed.get(root) ??
    FOLDERS.flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
        join(root, folder, path),
      ),
    )
  listed.set(root, paths)
  return paths
}

type Range = Readonly<{ start: number; end: number }>

/** The places of a piece of code in a source. */
export function findCode(source: string, piece: string): Range[] {
  const { text, offsets } = tokensOf(source)
  const wanted = piece.replace(/\s+/g, '')
  const found: Range[] = []
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const last = offsets[at + wanted.length - 1]
    const start = offsets[at]
    if (start !== undefined && last !== undefined) found.push({ start, end: last + 1 })
  }
  return found
}

type Tokens = Readonly<{ text: string; offsets: readonly number[] }>

/** Many bugs are in one file, which is parsed once. */
const known = new Map<string, Tokens>()

function tokensOf(source: string): Tokens {
  const tokens = known.get(source) ?? withoutTrivia(source)
  known.set(source, tokens)
  return tokens
}

/** A source without comments and white space, and where each of its characters stood. */
function withoutTrivia(source: string): Tokens {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest)
  const offsets: number[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return
    const parts = node.getChildren(file)
    for (const part of parts) visit(part)
    if (parts.length > 0) return
    for (let at = node.getStart(file); at < node.end; at++) {
      if (/\S/.test(source.charAt(at))) offsets.push(at)
    }
  }
  visit(file)
  return { text: offsets.map((at) => source.charAt(at)).join(''), offsets }
}
