// Checks that the documents' programs compile as strict TypeScript against the types of this package.
import { join } from 'node:path'
import ts from 'typescript'
import { ROOT } from '../support/project.js'
import { type Block, placeOf } from './blocks.js'

export type TypedBlock = Readonly<{
  block: Block
  /** Declarations, on one line, of names that the block uses and does not define. */
  declared: string
}>

/** The settings that `tsc --init` writes into a new project. */
const STRICT: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  skipLibCheck: true,
  noEmit: true,
  paths: {
    rowstash: [join(ROOT, 'src/index.ts')],
    'rowstash/ports': [join(ROOT, 'src/ports.ts')],
    'rowstash/node': [join(ROOT, 'adapters/node.ts')],
    'rowstash/postgres': [join(ROOT, 'adapters/postgres.ts')],
    'rowstash/s3': [join(ROOT, 'adapters/s3.ts')],
    'rowstash/client': [join(ROOT, 'src/client/client.ts')],
    'rowstash/testing': [join(ROOT, 'test/conformance/testing.ts')],
  },
}

/**
 * The errors, each with its place in the document. One compilation checks all blocks, because it takes seconds to
 * start.
 */
export function typeErrors(typed: readonly TypedBlock[]): string[] {
  const texts = new Map<string, TypedBlock>()
  for (const [index, one] of typed.entries()) {
    texts.set(join(ROOT, 'test/documents', `block-${index}.ts`), one)
  }
  const host = ts.createCompilerHost(STRICT)
  const { readFile, fileExists } = host
  host.fileExists = (path) => texts.has(path) || fileExists(path)
  host.readFile = (path) => {
    const one = texts.get(path)
    return one === undefined ? readFile(path) : `${one.declared}; export {}\n${one.block.text}`
  }
  const program = ts.createProgram([...texts.keys()], STRICT, host)
  return [...texts].flatMap(([path, { block }]) => {
    const source = program.getSourceFile(path)
    if (source === undefined) return [`${placeOf(block)}: not read`]
    const found = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ]
    return found.map(({ start = 0, messageText }) => {
      const { line } = source.getLineAndCharacterOfPosition(start)
      const message = ts.flattenDiagnosticMessageText(messageText, ' ')
      return `${block.document}:${block.line + line}: ${message}`
    })
  })
}
