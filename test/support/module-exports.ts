// The names that a module exports.
import ts from 'typescript'

export type ModuleExport = Readonly<{
  name: string
  /** The declared symbol, wherever its declaration is. */
  target: ts.Symbol
  /** Whether it is only exported as a type, as in `export type { TestClock }`: then it does not exist at run time. */
  isTypeOnly: boolean
}>

/** @param path - The absolute path of a file of the program. */
export function exportsOf(program: ts.Program, path: string): readonly ModuleExport[] {
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(path)
  const module = source && checker.getSymbolAtLocation(source)
  if (module === undefined) throw new Error(`${path} is not a module`)
  return checker.getExportsOfModule(module).map((symbol) => {
    const target = targetOf(checker, symbol)
    return { name: symbol.name, target, isTypeOnly: isTypeOnly(symbol) }
  })
}

/** The symbol itself, or the target of an import or re-export. */
export function targetOf(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
  return isAlias ? checker.getAliasedSymbol(symbol) : symbol
}

function isTypeOnly(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((node) => {
    return ts.isExportSpecifier(node) && (node.isTypeOnly || node.parent.parent.isTypeOnly)
  })
}
