// What the package's docstrings say about options and failures, and their examples, so that a test finds omissions.
// Reads both the sources and the published declarations.
import ts from 'typescript'
import { exportsOf, targetOf } from './module-exports.js'

/** A function or method for users. Its overloads count as one. */
type Callable = Readonly<{
  entry: string
  /** `openStore`, `Table.addRows`. */
  name: string
  /** The docstrings of its declarations, with their tags. */
  text: string
  /** Whether its result may fail later: a promise, an iterator, a stream. */
  isAsync: boolean
  /** The docstring of its type; empty for a function. */
  typeText: string
}>

/** A member of an argument that callers may omit. */
type Option = Readonly<{
  entry: string
  /** `AddOptions.receipt`; for an object in the parameter list, `Files.fromUrl.fileName`. */
  name: string
  /** Its docstring; for a member on a line with others, the docstring of the type or function. */
  text: string
  /** Whether it has its own docstring. */
  isDescribed: boolean
  isNumber: boolean
}>

/** An exported value. */
type Value = Readonly<{
  entry: string
  name: string
  kind: 'function' | 'class' | 'value'
  text: string
}>

export type PublicDocs = Readonly<{
  callables: readonly Callable[]
  options: readonly Option[]
  values: readonly Value[]
  /** Names of all exported types and values, of the types that they use, and of all their members. */
  known: ReadonlySet<string>
}>

const RETURNS_LATER =
  /\b(?:Promise|Awaitable|AsyncIterable\w*|DisposableIterator|ExportedRows|ReadableStream)\b/

/**
 * The exports of the entries. Each name appears once, at the first entry that exports it. `paths` are absolute, by
 * entry.
 */
export function publicDocs(
  program: ts.Program,
  paths: Readonly<Record<string, string>>,
): PublicDocs {
  const checker = program.getTypeChecker()
  const known = new Set<string>()
  const callables = new Map<string, Callable>()
  const options = new Map<string, Option>()
  const values = new Map<string, Value>()

  const addOption = (entry: string, owner: string, holder: string, node: ts.PropertySignature) => {
    const name = `${owner}.${node.name.getText()}`
    if (options.has(name)) return
    const own = docOf(node)
    const isNumber = /\b(?:number|bigint)\b/.test(node.type?.getText() ?? '')
    options.set(name, {
      entry,
      name,
      text: own || holder,
      isDescribed: own !== '',
      isNumber: isNumber && !/=>|Readonly|\[/.test(node.type?.getText() ?? ''),
    })
  }

  /** Adds the optional members of an argument's type. */
  const visitType = (
    entry: string,
    owner: string,
    holder: string,
    node: ts.Node,
    seen: Set<ts.Node>,
  ): void => {
    if (seen.has(node)) return
    seen.add(node)
    if (ts.isFunctionTypeNode(node) || ts.isConditionalTypeNode(node)) return
    if (ts.isPropertySignature(node)) {
      known.add(node.name.getText())
      if (node.questionToken !== undefined) addOption(entry, owner, holder, node)
      if (node.type !== undefined) visitType(entry, owner, docOf(node) || holder, node.type, seen)
      return
    }
    if (ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node)) {
      const at = ts.isTypeReferenceNode(node) ? node.typeName : node.expression
      for (const declared of declarationsOf(checker, at)) {
        known.add(at.getText())
        if (ts.isInterfaceDeclaration(declared) && !declared.members.some(ts.isMethodSignature)) {
          visitType(entry, declared.name.text, docOf(declared), declared, seen)
        } else if (ts.isTypeAliasDeclaration(declared)) {
          visitType(entry, declared.name.text, docOf(declared), declared.type, seen)
        }
      }
    }
    ts.forEachChild(node, (inner) => visitType(entry, owner, holder, inner, seen))
  }

  const addCallable = (
    entry: string,
    name: string,
    node: ts.SignatureDeclaration,
    typeText: string,
  ) => {
    const before = callables.get(name)
    const text = docOf(node)
    const returned = node.type?.getText() ?? ''
    callables.set(name, {
      entry: before?.entry ?? entry,
      name,
      text: `${before?.text ?? ''}\n${text}`.trim(),
      isAsync: before?.isAsync === true || RETURNS_LATER.test(returned),
      typeText,
    })
    const seen = new Set<ts.Node>()
    for (const { type } of node.parameters) {
      if (type !== undefined) visitType(entry, name, text || typeText, type, seen)
    }
  }

  const addExport = (entry: string, name: string, node: ts.Declaration, isType: boolean): void => {
    known.add(name)
    const kind = isType ? undefined : valueKind(node)
    if (kind !== undefined) values.set(name, { entry, name, kind, text: docOf(node) })
    if (ts.isFunctionDeclaration(node)) addCallable(entry, name, node, '')
    const typeText = docOf(node)
    for (const member of methodsOf(node)) {
      const called = member.name?.getText() ?? ''
      known.add(called)
      addCallable(entry, `${name}.${called}`, member, typeText)
    }
  }

  const exported = new Set<ts.Node>()
  for (const [entry, path] of Object.entries(paths)) {
    for (const { name, target, isTypeOnly } of exportsOf(program, path)) {
      for (const node of target.declarations ?? []) {
        if (exported.has(node)) continue
        exported.add(node)
        addExport(entry, name, node, isTypeOnly)
      }
    }
  }
  return {
    callables: [...callables.values()],
    options: [...options.values()],
    values: [...values.values()],
    known,
  }
}

function declarationsOf(checker: ts.TypeChecker, at: ts.Node): readonly ts.Declaration[] {
  const symbol = checker.getSymbolAtLocation(at)
  if (symbol === undefined) return []
  const { declarations = [] } = targetOf(checker, symbol)
  return declarations.filter((node) => !node.getSourceFile().fileName.includes('/node_modules/'))
}

function valueKind(node: ts.Declaration): Value['kind'] | undefined {
  if (ts.isFunctionDeclaration(node)) return 'function'
  if (ts.isClassDeclaration(node)) return 'class'
  return ts.isVariableDeclaration(node) ? 'value' : undefined
}

/** The methods of a type. A class that implements an interface is described there. */
function methodsOf(node: ts.Declaration): ts.SignatureDeclaration[] {
  if (!ts.isInterfaceDeclaration(node) && !ts.isClassDeclaration(node)) return []
  const isImplementation = node.heritageClauses?.some(
    ({ token }) => ts.isClassDeclaration(node) && token === ts.SyntaxKind.ImplementsKeyword,
  )
  const members: readonly ts.Node[] = node.members
  return isImplementation ? [] : members.filter(isNamedMethod)
}

function isNamedMethod(node: ts.Node): node is ts.MethodSignature | ts.MethodDeclaration {
  if (!ts.isMethodSignature(node) && !ts.isMethodDeclaration(node)) return false
  return ts.isIdentifier(node.name)
}

/** The text of a docstring and its tags, without the stars. */
function docOf(node: ts.Node): string {
  const holder = ts.isVariableDeclaration(node) ? node.parent.parent : node
  return ts
    .getJSDocCommentsAndTags(holder)
    .filter(ts.isJSDoc)
    .map((comment) => comment.getText().replace(/^\s*(?:\/\*\*|\*\/|\*(?!\/)) ?|\s*\*\/$/gm, ''))
    .join('\n')
    .trim()
}

/** Types of conditions, texts of rows or parts of results: an absent member is no option with a default. */
const NO_OPTIONS =
  /^(?:AnsweredRequest|RowInput|Where\w*|Equality|Order|TextPart|Emptiness|ArrayTest|StandardSchema|StandardResult|StandardIssue|Column|PieceStart)\b/

/** What options omit: the default; for a number, the range, or the unit unless the name has one. */
export function silentOptions({ options, known }: PublicDocs): string[] {
  return options.flatMap((option) => {
    if (NO_OPTIONS.test(option.name)) return []
    const lacks = optionLacks(option, known)
    return lacks.length === 0 ? [] : [`${option.name} has no ${lacks.join(', ')}`]
  })
}

function optionLacks(
  { name, text, isDescribed, isNumber }: Option,
  known: ReadonlySet<string>,
): string[] {
  // In its own docstring, only a whole sentence that refers to another name counts. Elsewhere a part of a sentence
  // suffices.
  const isOther = isDescribed ? /(?:^|\. )(?:As|See)(?: in| of)? `/.test(text) : true
  if (isOther && refersToKnown(text, known)) return []
  const lacks: string[] = []
  if (!/\bdefaults?\b|\boptional\b/i.test(text)) lacks.push('default')
  if (!isNumber) return lacks
  if (!/\bRanges?:|Any size|\d to \d|positive integer/.test(text)) lacks.push('range')
  const [unit] = /Ms(?=Max$|Min$|$)|Bytes/.exec(name) ?? []
  if (unit?.startsWith('Ms') === true && !/milliseconds/.test(text)) lacks.push('unit')
  if (unit === 'Bytes' && !/\bbytes?\b|\bBytes\b|[KMGT]iB/.test(text)) lacks.push('unit')
  return lacks
}

/** Whether a docstring refers to another name that exists. */
function refersToKnown(text: string, known: ReadonlySet<string>): boolean {
  const [, name] = /\b(?:[Aa]s(?: in| of| those of)?|[Ss]ee) `([\w.]+)`/.exec(text) ?? []
  return name?.split('.').every((part) => known.has(part)) ?? false
}

/** Calls that may fail, but neither their docstrings nor their types' name a code or another call. */
export function silentFailures({ callables, known }: PublicDocs): string[] {
  return callables
    .filter((call) => call.isAsync && !namesFailures(call, known))
    .map(({ name }) => name)
}

function namesFailures({ text, typeText }: Callable, known: ReadonlySet<string>): boolean {
  if (
    codesOf(text).length > 0 ||
    /@throws \{ClientError\}|\b[Nn]ever (?:rejects|fails)\b/.test(text)
  )
    return true
  return (
    refersToKnown(text, known) ||
    /\b(?:[Ee]rrors|Failures)\s+are (?:as )?(?:those of )?`/.test(typeText)
  )
}

/** The codes that a docstring names. */
export function codesOf(text: string): string[] {
  const prose = text.replace(/@example[\s\S]*$/, '')
  return prose.match(/\b(?:[A-Z]+_)+[A-Z]+\b|\bABORTED\b/g) ?? []
}
