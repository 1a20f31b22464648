// The exports of each entry of the package, their members for users, and which of them lack a docstring. Types used by
// exported ones count as exported: users see them, but need not name them.
//
// A type's docstring covers members that share a line with others, as in `{ start: number; limit: number }`. An
// interface covers the members of a class that implements it.
import { join, relative } from 'node:path'
import ts from 'typescript'
import { exportsOf, targetOf } from './module-exports.js'
import { ROOT } from './project.js'

export type PublicName = Readonly<{
  entry: string
  /** `Table.addRows`; for a member of an object, `AddOptions.onSchemaError`. */
  name: string
  /** `src/engine/types/row-types.ts:12`. */
  place: string
  isDocumented: boolean
}>

/**
 * The exports of the entries, the types that they use, and their members. Each appears once, at the first entry that
 * has it.
 */
export function publicNames(
  program: ts.Program,
  entries: Readonly<Record<string, string>>,
): PublicName[] {
  const seen = new Set<ts.Node>()
  const names: PublicName[] = []

  const add = (entry: string, name: string, node: ts.Node): void => {
    if (seen.has(node)) return
    seen.add(node)
    const source = node.getSourceFile()
    const { line } = source.getLineAndCharacterOfPosition(node.getStart())
    const place = `${relative(ROOT, source.fileName)}:${line + 1}`
    names.push({ entry, name, place, isDocumented: isDocumented(node) })
    for (const [member, inner] of membersOf(node)) add(entry, `${name}.${member}`, inner)
    for (const type of typesIn(program.getTypeChecker(), node)) add(entry, type.name.text, type)
  }

  for (const [entry, path] of Object.entries(entries)) {
    for (const { name, target } of exportsOf(program, join(ROOT, path))) {
      for (const node of target.declarations ?? []) {
        if (!node.getSourceFile().fileName.startsWith(`${ROOT}/node_modules`))
          add(entry, name, node)
      }
    }
  }
  return names
}

type NamedType = ts.InterfaceDeclaration | ts.TypeAliasDeclaration

/** The requests and results that a declaration names, outside the bodies of functions and classes. */
function typesIn(checker: ts.TypeChecker, node: ts.Node): NamedType[] {
  if (ts.isClassDeclaration(node)) return []
  const found: NamedType[] = []
  const visit = (inner: ts.Node): void => {
    if (ts.isBlock(inner)) return
    if (ts.isTypeReferenceNode(inner) || ts.isExpressionWithTypeArguments(inner)) {
      const at = ts.isTypeReferenceNode(inner) ? inner.typeName : inner.expression
      const symbol = checker.getSymbolAtLocation(at)
      const declared = symbol === undefined ? [] : (targetOf(checker, symbol).declarations ?? [])
      found.push(...declared.filter(isNamedType))
    }
    ts.forEachChild(inner, visit)
  }
  visit(node)
  return found
}

/** Files that declare the requests and results of public calls. */
const REQUESTS = /\/src\/(?:engine\/types|contract)\//

function isNamedType(node: ts.Node): node is NamedType {
  const isType = ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)
  return isType && REQUESTS.test(node.getSourceFile().fileName)
}

function isDocumented(node: ts.Node): boolean {
  const holder = ts.isVariableDeclaration(node) ? node.parent.parent : node
  return ts.getJSDocCommentsAndTags(holder).some((comment) => {
    if (!ts.isJSDoc(comment)) return true
    return comment.comment !== undefined || (comment.tags?.length ?? 0) > 0
  })
}

/** The members that a reader of a declaration sees, including those of objects in it. */
function membersOf(node: ts.Node): [string, ts.Node][] {
  if (ts.isInterfaceDeclaration(node)) return named(node.members)
  if (ts.isClassDeclaration(node)) return isImplementation(node) ? [] : named(node.members)
  const found: [string, ts.Node][] = []
  const visit = (inner: ts.Node): void => {
    if (ts.isTypeLiteralNode(inner)) found.push(...(isOneLine(inner) ? [] : named(inner.members)))
    else if (!ts.isConditionalTypeNode(inner) && !ts.isFunctionTypeNode(inner)) {
      ts.forEachChild(inner, visit)
    }
  }
  if (ts.isTypeAliasDeclaration(node)) visit(node.type)
  if ((ts.isPropertySignature(node) || ts.isPropertyDeclaration(node)) && node.type)
    visit(node.type)
  return found
}

function isOneLine(node: ts.TypeLiteralNode): boolean {
  return !node.getText().includes('\n')
}

function isImplementation({ heritageClauses = ts.factory.createNodeArray() }: ts.ClassDeclaration) {
  return heritageClauses.some(({ token }) => token === ts.SyntaxKind.ImplementsKeyword)
}

function named(members: ts.NodeArray<ts.ClassElement | ts.TypeElement>): [string, ts.Node][] {
  return members.flatMap((member): [string, ts.Node][] => {
    const isHidden = (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0
    if (member.name === undefined || ts.isPrivateIdentifier(member.name) || isHidden) return []
    return [[member.name.getText(), member]]
  })
}
