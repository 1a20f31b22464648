// A strict validator of JSON Schema 2020-12, for the keywords that the OpenAPI document uses. Any other keyword is an
// error, so that nothing is skipped.

export type Schema = Readonly<Record<string, unknown>>

/** Finds the schema of a `$ref`. */
export type Resolve = (ref: string) => Schema

type Check = (value: unknown, argument: unknown, at: Place) => readonly string[]

type Place = Readonly<{ schema: Schema; path: string; resolve: Resolve }>

/** The checks of each schema: answers are compared with the same few schemas many thousands of times. */
const checksOfSchemas = new WeakMap<Schema, readonly BoundCheck[]>()

type BoundCheck = Readonly<{ keyword: string; check: Check | undefined; argument: unknown }>

function checksOf(schema: Schema): readonly BoundCheck[] {
  const known = checksOfSchemas.get(schema)
  if (known !== undefined) return known
  const checks = Object.entries(schema)
    .filter(([keyword]) => !isAnnotation(keyword))
    .map(([keyword, argument]) => ({ keyword, check: KEYWORDS[keyword], argument }))
  checksOfSchemas.set(schema, checks)
  return checks
}

/** The errors of a value; empty: it is valid. @throws {Error} for an unknown keyword */
export function problemsOf(
  value: unknown,
  schema: Schema,
  resolve: Resolve,
  path = '$',
): readonly string[] {
  const place = { schema, path, resolve }
  const found: string[] = []
  for (const { keyword, check, argument } of checksOf(schema)) {
    if (check === undefined) throw new Error(`${path}: the keyword ${keyword} is not known`)
    const problems = check(value, argument, place)
    if (problems.length > 0) found.push(...problems)
  }
  return found
}

/** Keywords that this validator does not know, in a schema or within it. */
export function unknownKeywords(schema: Schema): readonly string[] {
  return Object.entries(schema).flatMap(([keyword, argument]) => {
    if (isAnnotation(keyword)) return []
    if (!(keyword in KEYWORDS)) return [keyword]
    return partsOf(keyword, argument).flatMap(unknownKeywords)
  })
}

function isAnnotation(keyword: string): boolean {
  return keyword === 'description' || keyword.startsWith('x-')
}

function partsOf(keyword: string, argument: unknown): readonly Schema[] {
  if (keyword === 'properties') return Object.values(record(argument)).map(record)
  if (keyword === 'oneOf' || keyword === 'anyOf') return list(argument).map(record)
  const isPart = keyword === 'items' || keyword === 'additionalProperties'
  return isPart && typeof argument === 'object' ? [record(argument)] : []
}

const KEYWORDS: Readonly<Record<string, Check>> = {
  $ref: (value, argument, { path, resolve }) =>
    problemsOf(value, resolve(String(argument)), resolve, path),
  type: (value, argument, { path }) => {
    const types = typeof argument === 'string' ? [argument] : list(argument).map(String)
    const isOne = types.some((type) => isOfType(value, type))
    return isOne ? [] : [`${path} must be of the type ${types.join(' or ')}`]
  },
  const: (value, argument, { path }) =>
    value === argument ? [] : [`${path} must be ${JSON.stringify(argument)}`],
  enum: (value, argument, { path }) =>
    list(argument).includes(value) ? [] : [`${path} must be one of ${JSON.stringify(argument)}`],
  oneOf: (value, argument, place) => choiceProblems(value, argument, place, (fits) => fits === 1),
  anyOf: (value, argument, place) => choiceProblems(value, argument, place, (fits) => fits > 0),
  properties: (value, argument, { path, resolve }) => {
    const members = record(argument)
    return entriesOf(value).flatMap(([name, member]) =>
      Object.hasOwn(members, name)
        ? problemsOf(member, record(members[name]), resolve, `${path}.${name}`)
        : [],
    )
  },
  required: (value, argument, { path }) => {
    if (!isObject(value)) return []
    const missing = list(argument).filter((name) => !Object.hasOwn(value, String(name)))
    return missing.map((name) => `${path}.${name} is missing`)
  },
  additionalProperties: (value, argument, { schema, path, resolve }) => {
    const known = record(schema['properties'] ?? {})
    const others = entriesOf(value).filter(([name]) => !Object.hasOwn(known, name))
    if (argument === false) return others.map(([name]) => `${path}.${name} is not in the schema`)
    return others.flatMap(([name, member]) =>
      problemsOf(member, record(argument), resolve, `${path}.${name}`),
    )
  },
  items: (value, argument, { path, resolve }) =>
    Array.isArray(value)
      ? value.flatMap((item, at) => problemsOf(item, record(argument), resolve, `${path}[${at}]`))
      : [],
  minItems: (value, argument, { path }) =>
    Array.isArray(value) && value.length < Number(argument) ? [`${path} has too few items`] : [],
  maxItems: (value, argument, { path }) =>
    Array.isArray(value) && value.length > Number(argument) ? [`${path} has too many items`] : [],
  minLength: (value, argument, { path }) =>
    isShorter(value, Number(argument)) ? [`${path} is too short`] : [],
  maxLength: (value, argument, { path }) =>
    typeof value === 'string' && !isShorter(value, Number(argument) + 1)
      ? [`${path} is too long`]
      : [],
  pattern: (value, argument, { path }) =>
    typeof value !== 'string' || patternOf(String(argument)).test(value)
      ? []
      : [`${path} must match ${argument}, not ${JSON.stringify(value).slice(0, 100)}`],
  minimum: (value, argument, { path }) =>
    typeof value === 'number' && value < Number(argument) ? [`${path} is too small`] : [],
}

const patterns = new Map<string, RegExp>()

function patternOf(source: string): RegExp {
  const pattern = patterns.get(source) ?? new RegExp(source, 'u')
  patterns.set(source, pattern)
  return pattern
}

function choiceProblems(
  value: unknown,
  argument: unknown,
  { path, resolve }: Place,
  isRight: (fits: number) => boolean,
): readonly string[] {
  const found = list(argument).map((part) => problemsOf(value, record(part), resolve, path))
  const fits = found.filter((problems) => problems.length === 0).length
  if (isRight(fits)) return []
  const shown = found.map((problems) => problems[0] ?? 'fits').join(' | ')
  return [`${path} fits ${fits} of ${found.length}: ${shown}`]
}

/** Length is counted in code points: each has one or two code units. */
function isShorter(value: unknown, count: number): boolean {
  if (typeof value !== 'string' || value.length >= 2 * count) return false
  return value.length < count || [...value].length < count
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    case 'integer':
      return Number.isInteger(value)
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type
    default:
      throw new Error(`The type ${type} is not known`)
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isObject(value) ? Object.entries(value) : []
}

/** An object of the schema. @throws {Error} if it is none */
export function record(value: unknown): Readonly<Record<string, unknown>> {
  if (isObject(value)) return value
  throw new Error(`An object is needed, not ${JSON.stringify(value)}`)
}

function list(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new Error(`A list is needed, not ${JSON.stringify(value)}`)
}
