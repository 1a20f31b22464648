// The fenced blocks of all documents, each with its place for failures.
import { projectFiles, readText } from '../support/project.js'

export type Block = Readonly<{
  document: string
  /** The line of the fence, from 1. */
  line: number
  /** The text after the fence; empty: none. */
  language: string
  text: string
}>

/** `README.md:12`, which editors and terminals can open. */
export function placeOf({ document, line }: Block): string {
  return `${document}:${line}`
}

/** The blocks of every document of the project. */
export function allBlocks(): Block[] {
  const documents = projectFiles().filter((path) => path.endsWith('.md'))
  return documents.flatMap((document) => blocksOf(document, readText(document)))
}

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/

/** @throws {Error} if a block has no end */
export function blocksOf(document: string, text: string): Block[] {
  const blocks: Block[] = []
  let open: { line: number; fence: string; language: string; lines: string[] } | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const [, fence = '', rest = ''] = FENCE.exec(line) ?? []
    if (open === undefined) {
      if (fence !== '') open = { line: index + 1, fence, language: rest.trim(), lines: [] }
    } else if (fence.startsWith(open.fence) && rest.trim() === '') {
      const { line: opened, language, lines } = open
      blocks.push({ document, line: opened, language, text: lines.join('\n') })
      open = undefined
    } else {
      open.lines.push(line)
    }
  }
  if (open !== undefined) throw new Error(`${document}:${open.line}: the block does not end`)
  return blocks
}
