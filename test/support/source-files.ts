// The input of the tidy tests: the sources of the project and their imports.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'
import { ROOT, readText } from './project.js'

/** Every rule reads every file: without this cache most of the time would go into parsing the same text again. */
const parsed = new Map<string, ts.SourceFile>()

/** A parsed file of the project. Files must not change while the tests run. */
export function parseSource(path: string): ts.SourceFile {
  const known = parsed.get(path)
  if (known !== undefined) return known
  const source = parseText(path, readText(path))
  parsed.set(path, source)
  return source
}

export function parseText(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, PARSING, true)
}

/** Comments are not parsed, because no rule reads them. */
const PARSING: ts.CreateSourceFileOptions = {
  languageVersion: ts.ScriptTarget.Latest,
  jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
}

export type Import = Readonly<{ from: string; isTypeOnly: boolean }>

const imported = new WeakMap<ts.SourceFile, readonly Import[]>()

/** The modules that a file names in imports and exports, static or not. */
export function importsOf(source: ts.SourceFile): readonly Import[] {
  const known = imported.get(source) ?? findImports(source)
  imported.set(source, known)
  return known
}

function findImports(source: ts.SourceFile): Import[] {
  const found: Import[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      add(node.moduleSpecifier, node.importClause?.isTypeOnly ?? false)
    } else if (ts.isExportDeclaration(node)) {
      add(node.moduleSpecifier, node.isTypeOnly)
    } else if (ts.isCallExpression(node) && isLoading(node.expression)) {
      add(node.arguments[0], false)
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node.argument.literal, true)
    }
    ts.forEachChild(node, visit)
  }
  const add = (specifier: ts.Node | undefined, isTypeOnly: boolean): void => {
    if (specifier !== undefined && ts.isStringLiteral(specifier)) {
      found.push({ from: specifier.text, isTypeOnly })
    }
  }
  visit(source)
  return found
}

function isLoading(callee: ts.Expression): boolean {
  const isImport = callee.kind === ts.SyntaxKind.ImportKeyword
  return isImport || (ts.isIdentifier(callee) && callee.text === 'require')
}

/** A relative import as a path below the root, with the extension of the source file. */
export function resolveWithin(importer: string, from: string): string {
  return relative(ROOT, resolve(ROOT, dirname(importer), from)).replace(/\.js$/, '.ts')
}

/**
 * The file that Node loads for a module of a package, by `import` or `require`. Mappings in package.json apply, such as
 * those for browsers.
 */
export function resolvePackage(from: string, importer: string, condition: string): string {
  if (from.startsWith('#')) {
    const { imports } = JSON.parse(readText('package.json')) as { imports: unknown }
    return resolvePackage(conditionalTarget(member(imports, from), 'browser'), importer, condition)
  }
  const [, name = from, subpath = ''] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(from) ?? []
  for (let folder = dirname(importer); ; folder = dirname(folder)) {
    const root = join(folder, 'node_modules', name)
    if (existsSync(join(root, 'package.json'))) {
      const { exports, main = 'index.js' } = JSON.parse(
        readFileSync(join(root, 'package.json'), 'utf8'),
      ) as { exports?: unknown; main?: string }
      if (exports === undefined) return resolveFile(join(root, subpath === '' ? main : subpath))
      return join(root, conditionalTarget(member(exports, `.${subpath}`), condition))
    }
    if (folder === dirname(folder))
      throw new Error(`${from}, imported by ${importer}, is not there`)
  }
}

/** A path, completed as `require` does. */
export function resolveFile(path: string): string {
  const tries = [path, `${path}.js`, join(path, 'index.js')]
  const found = tries.find((file) => existsSync(file) && statSync(file).isFile())
  if (found === undefined) throw new Error(`${path} is not there`)
  return found
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? new Map(Object.entries(value)).get(name)
    : undefined
}

function conditionalTarget(target: unknown, condition: string): string {
  if (typeof target === 'string') return target
  const next = member(target, condition) ?? member(target, 'default')
  if (next === undefined) throw new Error('An export without a target')
  return conditionalTarget(next, condition)
}
