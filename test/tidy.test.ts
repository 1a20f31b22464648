// Rules that neither the compiler nor the linter checks: layers, sizes, names.
import { builtinModules } from 'node:module'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { projectFiles, ROOT, readText } from './support/project.js'
import {
  importsOf,
  parseSource,
  parseText,
  resolveFile,
  resolvePackage,
  resolveWithin,
} from './support/source-files.js'

const FILE_LINES_MAX = 400
const FUNCTION_LINES_MAX = 60

const files = projectFiles()
const sources = files.filter((path) => /^(?:src|adapters|bench|test)\/.*\.(?:ts|mjs)$/.test(path))
const shipped = sources.filter((path) => !path.startsWith('test/'))

/** A layer imports only itself and lower layers. The two ports do not import each other. */
const LAYERS = [
  ['contract', 'client'],
  ['engine'],
  ['format'],
  ['intake'],
  ['schema'],
  ['kv', 'objects'],
  ['base'],
]

/**
 * The folders of the engine, from the surface down. A folder imports only itself and lower floors. Files outside all
 * folders are the surface.
 */
const ENGINE_FLOORS = [
  [''],
  ['backup'],
  ['verify'],
  ['jobs', 'transaction'],
  ['maintenance', 'table'],
  ['keys', 'order'],
  ['changes', 'find', 'merge'],
  ['files', 'import', 'read'],
  ['context'],
  ['leases'],
  ['caches', 'ids', 'limits'],
  ['commit'],
  ['segments'],
  ['arguments'],
  ['types'],
]

/** The folders of the contract, by the same rules. */
const CONTRACT_FLOORS = [
  [''],
  ['operations'],
  ['files', 'openapi'],
  ['answers'],
  ['calls'],
  ['bodies'],
  ['auth', 'metrics'],
  ['memory'],
  ['http'],
]

/** The folders of the adapters, by the same rules. */
const ADAPTER_FLOORS = [
  ['build'],
  ['cli'],
  ['cli/commands'],
  ['cli/import'],
  ['cli/parquet'],
  ['cli/stores'],
  ['cli/server'],
  ['cli/torture'],
  ['cli/command'],
  [''],
  ['parquet'],
  ['directory', 'http', 'postgres', 's3', 'sources'],
  ['leveldb', 'page', 'postgres/connection'],
  ['page/browser'],
  ['page/browser/views'],
  ['page/browser/edit', 'page/browser/import'],
  ['page/browser/grid'],
  ['page/browser/base'],
  ['fs'],
  ['base'],
]

/**
 * Adapters that implement a port of the core may import `src/base` and the port. All other adapters import only the
 * public entry point, and the core's checks of arguments through `adapters/base`.
 */
const PORT_IMPLEMENTATIONS = /^adapters\/(?:base|directory|fs|leveldb|postgres|s3)\//

/** The public entry points of the core, and the entry that only this package may use. */
const ENTRIES: ReadonlySet<string> = new Set([
  'src/index.ts',
  'src/internal.ts',
  'src/ports.ts',
  'src/client/client.ts',
])

function layerOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1]
}

function rankOf(layer: string | undefined): number {
  return LAYERS.findIndex((names) => layer !== undefined && names.includes(layer))
}

/** The page's script uses the client, which the core's entry does not include, and checks what people type. */
const CLIENT_PROGRAMS = /^adapters\/page\/browser\//

function mayImport(importer: string, imported: string): boolean {
  if (ENTRIES.has(importer) && layerOf(importer) === undefined) return imported.startsWith('src/')
  if (importer.startsWith('src/')) {
    const [from, to] = [layerOf(importer), layerOf(imported)]
    return from === to || rankOf(to) > rankOf(from)
  }
  if (!imported.startsWith('src/') || ENTRIES.has(imported)) return true
  if (CLIENT_PROGRAMS.test(importer)) return /^src\/(?:base|client|intake|schema)\//.test(imported)
  return PORT_IMPLEMENTATIONS.test(importer) && /^src\/(?:base|intake|kv|objects)\//.test(imported)
}

describe('layers', () => {
  test('every folder of the core is a layer', () => {
    const unknown = shipped.filter((path) => path.startsWith('src/') && !ENTRIES.has(path))

    expect(unknown.filter((path) => rankOf(layerOf(path)) < 0)).toEqual([])
  })

  test('the floors of the engine are those that its README draws', () => {
    const [, drawing = ''] = readText('src/engine/README.md').split('```\n')
    const drawn = drawing.trim().split('\n').slice(1)

    expect(drawn.map((floor) => floor.split(/ +/))).toEqual(ENGINE_FLOORS.slice(1))
  })

  test('the diagram of ARCHITECTURE draws the layers in their order', () => {
    const [, drawing = ''] = readText('src/ARCHITECTURE.md').split('```\n')
    const drawn = drawing
      .split('\n')
      .map((line) => [...line.matchAll(/src\/(\w+)/g)].map(([, layer = '']) => layer).sort())
      .filter((layers) => layers.length > 0)

    expect(drawn).toEqual(LAYERS.map((layers) => [...layers].sort()))
  })

  test('a layer imports only those below it, and adapters only the entry point', () => {
    const wrong = shipped.flatMap((importer) =>
      importsOf(parseSource(importer))
        .filter(({ from }) => from.startsWith('.'))
        .map(({ from }) => resolveWithin(importer, from))
        .filter((imported) => !mayImport(importer, imported))
        .map((imported) => `${importer} imports ${imported}`),
    )

    expect(wrong).toEqual([])
  })

  test.each([
    ['src/engine', ENGINE_FLOORS],
    ['src/contract', CONTRACT_FLOORS],
    ['adapters', ADAPTER_FLOORS],
  ])('a folder of %s imports only itself and the floors below', (root, floors) => {
    expect(shipped.flatMap((importer) => upwardImports(importer, root, floors))).toEqual([])
  })

  test.each(['import', 'import type'])('an upward %s is found', (statement) => {
    const source = `${statement} { Lifecycle } from '../leases/lifecycle.js'`
    const upward = (importer: string) =>
      upwardImports(importer, 'src/engine', ENGINE_FLOORS, parseText(importer, source))

    expect(upward('src/engine/commit/keyed-mutex.ts')).toEqual([
      'src/engine/commit/keyed-mutex.ts imports src/engine/leases/lifecycle.ts',
    ])
    expect(upward('src/engine/read/page-reader.ts')).toEqual([])
  })

  test('no layer below the contract speaks of requests', () => {
    const words =
      /Invalid request|bodyBytes|METHOD_NOT_ALLOWED|REQUEST_(?:ERROR|TOO_LARGE)|UNSUPPORTED_MEDIA_TYPE/
    const below = shipped.filter((path) => path.startsWith('src/') && layerOf(path) !== 'contract')

    expect(below.filter((path) => words.test(readText(path)))).toEqual([])
  })

  test('only commands know exit codes', () => {
    const library = shipped.filter((path) => {
      return /^adapters\/(?!cli\/(?:commands\/)?[^/]*$)/.test(path)
    })
    const wrong = library.filter((path) => {
      const isOfCommand = importsOf(parseSource(path)).some(({ from }) =>
        /\/cli(?:-[^/]*)?\.js$/.test(from),
      )
      return isOfCommand || /\bexitCode\b/.test(readText(path))
    })

    expect(wrong).toEqual([])
  })

  test('nothing that is shipped imports a test', () => {
    const wrong = shipped.flatMap((importer) =>
      importsOf(parseSource(importer))
        .filter(({ from }) => from.startsWith('.'))
        .map(({ from }) => resolveWithin(importer, from))
        .filter((imported) => imported.startsWith('test/')),
    )

    expect(wrong).toEqual([])
  })
})

/** Values created once and never changed, or filled while their module loads (lists of addresses, typed arrays). */
const CONSTANT_CLASSES =
  /^(?:Text(?:En|De)coder|RegExp|BlockList|U?[Ii]nt\d+Array|Prefix|Intl\.\w+Format)$/

/** Top-level declarations whose value may change after the module has loaded. */
function moduleStateOf(path: string, source: ts.SourceFile): string[] {
  const lists = source.statements.filter(ts.isVariableStatement)
  return lists
    .flatMap(({ declarationList }) => declarationList.declarations)
    .filter((declared) => mayChange(declared))
    .map(({ name }) => `${path}: ${name.getText(source)}`)
}

function mayChange({ parent, type, initializer }: ts.VariableDeclaration): boolean {
  if ((parent.flags & ts.NodeFlags.Const) === 0) return true
  if (initializer === undefined || /^(?:Readonly|readonly\b)/.test(type?.getText() ?? ''))
    return false
  if (ts.isNewExpression(initializer)) return !CONSTANT_CLASSES.test(builtClass(initializer))
  if (ts.isArrayLiteralExpression(initializer)) return initializer.elements.length === 0
  return ts.isObjectLiteralExpression(initializer) && initializer.properties.length === 0
}

function builtClass({ expression }: ts.NewExpression): string {
  return expression.getText()
}

/** The imports of a file from another folder of its floor, or from above. */
function upwardImports(
  importer: string,
  root: string,
  floors: readonly (readonly string[])[],
  source = parseSource(importer),
): string[] {
  const folderOf = (path: string) =>
    path.startsWith(`${root}/`) ? dirname(relative(root, path)).replace('.', '') : undefined
  const floorOf = (folder: string) => floors.findIndex((names) => names.includes(folder))
  const from = folderOf(importer)
  if (from === undefined) return []
  if (floorOf(from) < 0) return [`${importer} is in an unknown folder`]
  return importsOf(source)
    .filter((found) => found.from.startsWith('.'))
    .map((found) => resolveWithin(importer, found.from))
    .filter((imported) => {
      const to = folderOf(imported)
      return to !== undefined && to !== from && floorOf(to) <= floorOf(from)
    })
    .map((imported) => `${importer} imports ${imported}`)
}

describe('the core runs anywhere', () => {
  const core = shipped.filter((path) => path.startsWith('src/'))

  test('no file of it imports a module of Node, not even a type', () => {
    const wrong = core.flatMap((path) =>
      importsOf(parseSource(path))
        .filter(({ from }) => isBuiltIn(from))
        .map(({ from }) => `${path} imports ${from}`),
    )

    expect(wrong).toEqual([])
  })

  test('it uses these packages', () => {
    expect([...packageImports(core)].sort()).toEqual(['emoji-regex', 'fflate', 'memory-level'])
  })

  test('no package entry it uses imports a module of Node, but the two that bundlers replace', () => {
    // abstract-level is written for bundlers, which replace Node's modules `events` and `buffer` by the packages of
    // these names.
    const found = [...packageImports(core)].flatMap(builtInsBehind)

    expect([...new Set(found)].sort()).toEqual([
      'abstract-level/abstract-level.js: events',
      'abstract-level/lib/abstract-sublevel.js: buffer',
      'level-transcoder/lib/encodings.js: buffer',
      'level-transcoder/lib/formats.js: buffer',
    ])
  })
})

function isBuiltIn(from: string): boolean {
  return from.startsWith('node:') || builtinModules.includes(from)
}

/** Modules of packages that are imported for more than their types. */
function packageImports(paths: readonly string[]): Set<string> {
  const imports = paths.flatMap((path) => importsOf(parseSource(path)))
  return new Set(
    imports
      .filter(({ from, isTypeOnly }) => !isTypeOnly && !from.startsWith('.'))
      .map(({ from }) => from),
  )
}

/** Walks the files that Node would load for a module of a package. */
function builtInsBehind(module: string): string[] {
  const builtIns: string[] = []
  const waiting = [resolvePackage(module, join(ROOT, 'src/index.ts'), 'import')]
  const seen = new Set(waiting)
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const path = relative(ROOT, file)
    const condition = path.endsWith('.cjs') ? 'require' : 'import'
    for (const { from } of importsOf(parseSource(path))) {
      if (isBuiltIn(from)) {
        builtIns.push(`${path.replace(/^.*node_modules\//, '')}: ${from}`)
        continue
      }
      const next = from.startsWith('.')
        ? resolveFile(join(file, '..', from))
        : resolvePackage(from, file, condition)
      if (!seen.has(next)) waiting.push(next)
      seen.add(next)
    }
  }
  return builtIns
}

describe('size', () => {
  test(`a file has at most ${FILE_LINES_MAX} lines beside its imports`, () => {
    const linesOf = (path: string): number => {
      const text = readText(path).replaceAll(/^import [^']*'[^']*'.*\n/gm, '')
      return text.split('\n').length - 1
    }

    expect(shipped.filter((path) => linesOf(path) > FILE_LINES_MAX)).toEqual([])
  })

  test(`a function has at most ${FUNCTION_LINES_MAX} lines`, () => {
    expect(shipped.flatMap(longFunctions)).toEqual([])
  })
})

function longFunctions(path: string): string[] {
  const source = parseSource(path)
  const found: string[] = []
  const lineOf = (offset: number): number => source.getLineAndCharacterOfPosition(offset).line + 1
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node) {
      const start = lineOf(node.getStart(source))
      const lines = lineOf(node.end) - start + 1
      if (lines > FUNCTION_LINES_MAX) found.push(`${path}:${start} has ${lines} lines`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** `src/base` and `src/format` are flat; their READMEs are maps. */
const FLAT = ['src/base', 'src/format']
const FOLDER_FILES_MAX = 26

test(`a folder has at most ${FOLDER_FILES_MAX} files, but for ${FLAT.join(' and ')}`, () => {
  const counts = new Map<string, number>()
  for (const path of files.filter((path) => /^(?:src|adapters)\//.test(path))) {
    counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  }
  const large = [...counts].filter(
    ([folder, count]) => count > FOLDER_FILES_MAX && !FLAT.includes(folder),
  )

  expect(large).toEqual([])
})

describe('types and names', () => {
  test('there is no any, no assertion that a value is there, no default export', () => {
    const own = sources.filter((path) => !/\.config\.m?[jt]s$/.test(path)) // Tools require a default export there.
    // Parsing all tests takes seconds, and a text without one of these words cannot break the rule.
    const suspect =
      /(?:[<>:|&(,=?[]|\b(?:as|is|extends|satisfies|keyof))\s*any\b|\bany\[|\bexport\s*=|\bdefault\b(?!:)|[\w$)\]}"'`>]!(?!=)/
    const wrong = own
      .filter((path) => suspect.test(readText(path)))
      .flatMap((path) => {
        const source = parseSource(path)
        const found: string[] = []
        const visit = (node: ts.Node): void => {
          const isDefault =
            ts.isExportAssignment(node) || node.kind === ts.SyntaxKind.DefaultKeyword
              ? !ts.isDefaultClause(node.parent)
              : false
          const isWrong =
            isDefault || node.kind === ts.SyntaxKind.AnyKeyword || ts.isNonNullExpression(node)
          if (isWrong) {
            const { line } = source.getLineAndCharacterOfPosition(node.getStart(source))
            found.push(`${path}:${line + 1} ${node.getText(source)}`)
          }
          ts.forEachChild(node, visit)
        }
        visit(source)
        return found
      })

    expect(wrong).toEqual([])
  })

  test('no module has state, but for these', () => {
    const product = shipped.filter((path) => /^(?:src|adapters)\//.test(path))

    expect(product.flatMap((path) => moduleStateOf(path, parseSource(path)))).toEqual([
      'adapters/fs/process-descriptors.ts: ofProcess',
      'adapters/http/connections.ts: watched',
      'adapters/http/framing-cost.ts: pauses',
      'src/base/bytes.ts: block',
      'src/base/bytes.ts: taken',
      'src/contract/bodies/body-steps.ts: TURNS',
    ])
  })

  test.each([
    ['let count = 0', ['count']],
    ['var last', ['last']],
    ['export const seen = new Map<string, number>()', ['seen']],
    ['const seen: ReadonlySet<string> = new Set(), kept = new WeakMap()', ['kept']],
    ['const pool = new BufferPool(1)', ['pool']],
    ['const found: string[] = []', ['found']],
    ['const found: readonly string[] = []', []],
    ['const byName = {}', ['byName']],
    ['const encoder = new TextEncoder(), table = new Uint8Array(256)', []],
    ['function count() { let n = 0; return n }', []],
  ])('state of a module is found in: %s', (text, names) => {
    expect(moduleStateOf('a.ts', parseText('a.ts', text))).toEqual(
      names.map((name) => `a.ts: ${name}`),
    )
  })

  test('no file is named by a word that says nothing', () => {
    const vague = /(?:^|[-_./])(?:utils?|helpers?|managers?|common|misc)(?:[-_./]|$)/

    expect(files.filter((path) => vague.test(path))).toEqual([])
  })

  test('no file names the host of a package registry', () => {
    const host = new RegExp(
      ['registry\\.(?:npmjs|yarnpkg|npmmirror)', 'npm\\.pkg\\.github'].join('|'),
    )

    expect(files.filter((path) => host.test(readText(path)))).toEqual([])
  })
})
