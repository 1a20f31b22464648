// A model compiled to JavaScript from the output of `quint compile`. It takes the same steps as Quint's simulator, a
// hundred times as fast. `run.mjs` compares the two, state by state.

/**
 * Quint's values as JavaScript: numbers, strings, booleans, arrays (lists and tuples), objects (records), Set and Map.
 */
export function same(left, right) {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object') return false
  if (left instanceof Set)
    return left.size === right.size && [...left].every((one) => right.has(one))
  if (left instanceof Map) {
    if (left.size !== right.size) return false
    for (const [key, value] of left)
      if (!right.has(key) || !same(value, right.get(key))) return false
    return true
  }
  if (Array.isArray(left)) {
    return left.length === right.length && left.every((one, i) => same(one, right[i]))
  }
  const names = Object.keys(left)
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => same(left[name], right[name]))
  )
}

const intervals = new Map()

/** The elements of an interval, created once. */
function interval(first, last) {
  const key = `${first} ${last}`
  const known = intervals.get(key)
  if (known !== undefined) return known
  const made = LIBRARY.range(first, last + 1)
  intervals.set(key, made)
  return made
}

/** Elements of sets and keys of maps are numbers, strings or booleans, which JavaScript compares like Quint. */
const LIBRARY = {
  same,
  interval,
  at(list, i) {
    if (!(i in list)) throw new Error(`Nothing is at ${i}`)
    return list[i]
  },
  get(map, key) {
    if (!map.has(key)) throw new Error(`The map has no ${key}`)
    return map.get(key)
  },
  to: (first, last) =>
    new Set(Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i)),
  union(left, right) {
    if (right.size === 0) return left
    if (left.size === 0) return right
    const both = new Set(left)
    for (const one of right) both.add(one)
    return both
  },
  intersect: (left, right) => new Set([...left].filter((one) => right.has(one))),
  exclude(left, right) {
    const rest = new Set(left)
    for (const one of right) rest.delete(one)
    return rest
  },
  isSubset(left, right) {
    for (const one of left) if (!right.has(one)) return false
    return true
  },
  filter: (set, fits) => new Set([...set].filter(fits)),
  mapSet: (set, change) => new Set([...set].map(change)),
  mapBy: (set, change) => new Map([...set].map((one) => [one, change(one)])),
  put: (map, key, value) => new Map(map).set(key, value),
  keys: (map) => new Set(map.keys()),
  exists: (set, fits) => [...set].some(fits),
  forall: (set, fits) => [...set].every(fits),
  fold: (of, first, add) => [...of].reduce((sum, one) => add(sum, one), first),
  replaceAt: (list, i, value) => list.with(i, value),
  range: (first, limit) => Array.from({ length: limit - first }, (_, i) => first + i),
}

/** Operators as JavaScript expressions. */
const OPERATORS = {
  and: (...all) => `(${all.join(' && ')})`,
  or: (...all) => `(${all.join(' || ')})`,
  not: (one) => `!${one}`,
  ite: (is, yes, no) => `(${is} ? ${yes} : ${no})`,
  eq: (left, right) => `same(${left}, ${right})`,
  neq: (left, right) => `!same(${left}, ${right})`,
  iadd: (left, right) => `(${left} + ${right})`,
  isub: (left, right) => `(${left} - ${right})`,
  imul: (left, right) => `(${left} * ${right})`,
  idiv: (left, right) => `Math.trunc(${left} / ${right})`,
  imod: (left, right) => `(${left} % ${right})`,
  iuminus: (one) => `(-${one})`,
  ilt: (left, right) => `(${left} < ${right})`,
  ilte: (left, right) => `(${left} <= ${right})`,
  igt: (left, right) => `(${left} > ${right})`,
  igte: (left, right) => `(${left} >= ${right})`,
  Set: (...all) => `new Set([${all.join(', ')}])`,
  List: (...all) => `[${all.join(', ')}]`,
  Tup: (...all) => `[${all.join(', ')}]`,
  Map: (...all) => `new Map([${all.join(', ')}])`,
  Rec: (...all) => `({ ${all.map((one, i) => (i % 2 === 0 ? `${one}: ` : `${one}, `)).join('')} })`,
  field: (of, name) => `${of}[${name}]`,
  with: (of, name, value) => `({ ...${of}, ${name}: ${value} })`,
  item: (of, i) => `${of}[${i} - 1]`,
  nth: (of, i) => `at(${of}, ${i})`,
  length: (of) => `${of}.length`,
  append: (of, one) => `[...${of}, ${one}]`,
  slice: (of, first, limit) => `${of}.slice(${first}, ${limit})`,
  indices: (of) => `new Set(${of}.keys())`,
  foldl: (of, first, add) => `fold(${of}, ${first}, ${add})`,
  contains: (set, one) => `${set}.has(${one})`,
  in: (one, set) => `${set}.has(${one})`,
  size: (set) => `${set}.size`,
  subseteq: (left, right) => `isSubset(${left}, ${right})`,
  map: (set, change) => `mapSet(${set}, ${change})`,
  assign: (_, value) => `(next = ${value}, true)`,
}

const SAME_NAME = new Set(
  'get to union intersect exclude filter mapBy put keys exists forall fold replaceAt range'.split(
    ' ',
  ),
)

function identifier(name) {
  return `$${name.replace(/\W/g, '_')}`
}

/** What compiling an expression needs: the state variable, and the names that depend on the state. */
function expression(e, model) {
  const of = (inner) => expression(inner, model)
  switch (e.kind) {
    case 'int':
    case 'bool':
    case 'str':
      return JSON.stringify(e.value)
    case 'name':
      if (e.name === model.variable) return 'state'
      return model.views.has(e.name) ? `${identifier(e.name)}()` : identifier(e.name)
    case 'lambda':
      return `((${e.params.map(({ name }) => identifier(name)).join(', ')}) => ${of(e.expr)})`
    case 'let':
      return letExpression(e, of)
    case 'app':
      return application(e, of)
    default:
      throw new Error(`There is no rule for ${e.kind}`)
  }
}

function letExpression({ opdef, expr }, of) {
  const value = opdef.qualifier === 'nondet' ? picked(opdef, of) : of(opdef.expr)
  return `((${identifier(opdef.name)}) => ${of(expr)})(${value})`
}

/** The element at a place of a set. An interval is not created for it. */
function picked({ name, expr }, of) {
  const [set] = expr.args
  const local = JSON.stringify(localName(name))
  if (set.opcode !== 'to') return `pick(${local}, [...${of(set)}])`
  const [first, last] = set.args.map(of)
  return `pick(${local}, interval(${first}, ${last}))`
}

function application({ opcode, args }, of) {
  const given = args.map(of)
  if (Object.hasOwn(OPERATORS, opcode)) return OPERATORS[opcode](...given)
  if (!SAME_NAME.has(opcode) && !opcode.includes('::')) {
    throw new Error(`There is no rule for ${opcode}`)
  }
  return `${SAME_NAME.has(opcode) ? opcode : identifier(opcode)}(${given.join(', ')})`
}

/**
 * Compiles the JSON that `quint compile` prints: one state variable, `init`, `step` and an invariant.
 * @param constants - Values of constants, by name, which replace those of the compilation.
 * @returns A function that takes `pick(name, elements)`, which chooses an element, and returns the model with `state`,
 * `init()`, `step()` and `holds(invariant)`.
 */
export function compileModel(json, constants = {}) {
  const { declarations } = json.modules[0]
  const [variable, ...others] = declarations.filter(({ kind }) => kind === 'var')
  if (variable === undefined || others.length > 0) throw new Error('A model has one state variable')
  const definitions = declarations
    .filter(({ kind }) => kind === 'def')
    .map((definition) => withConstant(definition, constants))
  const isView = ({ qualifier, expr }) => qualifier !== 'pureval' && expr.kind !== 'lambda'
  const views = new Set(definitions.filter(isView).map(({ name }) => name))
  const lines = definitions.map(({ name, expr }) => {
    const body = expression(expr, { variable: variable.name, views })
    return `const ${identifier(name)} = ${views.has(name) ? `() => ${body}` : body}`
  })
  const code = `
    const { ${Object.keys(LIBRARY).join(', ')} } = library
    let state, next
    ${lines.join('\n')}
    const views = { ${[...views].map(viewEntry).join(', ')} }
    const move = (action) => {
      if (!action()) return false
      state = next
      return true
    }
    return {
      get state() { return state },
      set state(given) { state = given },
      init: () => move(${identifier('q::init')}),
      step: () => move(${identifier('q::step')}),
      holds: (invariant) => views[invariant](),
    }`
  // The code comes from a model of this folder, by the rules above.
  const make = new Function('library', 'pick', code)
  return (pick) => make(LIBRARY, pick)
}

function withConstant(definition, constants) {
  const name = localName(definition.name)
  if (!Object.hasOwn(constants, name)) return definition
  return { ...definition, expr: { ...definition.expr, value: constants[name] } }
}

function viewEntry(name) {
  return `${localName(name)}: ${identifier(name)}`
}

function localName(name) {
  return name.replace(/.*::/, '')
}
