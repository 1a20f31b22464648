// Misplaces the files of a store, whole or in blocks, as a manual restore or a tool may.
import { appendFile, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Seeded } from '../../support/seeded.js'

const BLOCK_BYTES = 32_768

/** Files whose bytes replace others: the path, and the name in a report. */
export type Sources = readonly Readonly<{ path: string; from: string }>[]

/** A directory, its files, and the bytes that may replace them. */
type Place = Readonly<{
  directory: string
  files: readonly string[]
  sources: Sources
  random: Seeded
}>

type Misplacing = (place: Place) => Promise<string>

/** Files of a store except its objects, with paths relative to it. */
export async function plainFiles(directory: string): Promise<string[]> {
  const names = await readdir(join(directory, 'kv'))
  return ['FORMAT', 'HIGHWATER', ...names.sort().map((name) => `kv/${name}`)]
}

async function bytesOf({ directory }: Place, file: string): Promise<Buffer> {
  return await readFile(join(directory, file))
}

async function put({ directory }: Place, file: string, bytes: Uint8Array): Promise<void> {
  await writeFile(join(directory, file), bytes)
}

const swap: Misplacing = async (place) => {
  const [one, other] = [place.random.pick(place.files), place.random.pick(place.files)]
  const [bytes, others] = [await bytesOf(place, one), await bytesOf(place, other)]
  await put(place, one, others)
  await put(place, other, bytes)
  return `${one} and ${other} were swapped`
}

const replace: Misplacing = async (place) => {
  const file = place.random.pick(place.files)
  const { path, from } = sourceFor(place, file)
  await copyFile(path, join(place.directory, file))
  return `${file} has the bytes of ${from}`
}

const double: Misplacing = async (place) => {
  const file = place.random.pick(place.files)
  await appendFile(join(place.directory, file), await bytesOf(place, file))
  return `${file} was doubled`
}

const append: Misplacing = async (place) => {
  const file = place.random.pick(place.files)
  const { path, from } = sourceFor(place, file)
  await appendFile(join(place.directory, file), await readFile(path))
  return `${from} was appended to ${file}`
}

const cut: Misplacing = async (place) => {
  const file = place.random.pick(place.files)
  const bytes = await bytesOf(place, file)
  const at = place.random.below(bytes.length + 1)
  const end = place.random.once(3) ? at - (at % BLOCK_BYTES) : at
  await put(place, file, bytes.subarray(0, end))
  return `${file} was cut from ${bytes.length} to ${end} bytes`
}

const remove: Misplacing = async (place) => {
  const file = place.random.pick(place.files)
  await rm(join(place.directory, file))
  return `${file} was removed`
}

const move: Misplacing = async (place) => {
  const file = place.random.pick(place.files)
  const bytes = await bytesOf(place, file)
  const name = await freeName(place)
  await rm(join(place.directory, file), { force: true })
  await put(place, `kv/${name}`, bytes)
  return `${file} was renamed to ${name}`
}

const plant: Misplacing = async (place) => {
  const name = await freeName(place)
  const { path, from } = sourceFor(place, name)
  await copyFile(path, join(place.directory, 'kv', name))
  return `${from} was put there as ${name}`
}

const plantFolder: Misplacing = async (place) => {
  const name = await freeName(place)
  await mkdir(join(place.directory, 'kv', name))
  return `a folder was made as ${name}`
}

const plantBytes: Misplacing = async (place) => {
  const file = place.random.once(2) ? place.random.pick(place.files) : `kv/${await freeName(place)}`
  const length = place.random.below(2 * BLOCK_BYTES)
  const fill = place.random.pick(['zeros', 'noise', 'text'])
  const noise = () => Buffer.from(Array.from({ length }, () => place.random.below(256)))
  const bytes = fill === 'noise' ? noise() : Buffer.alloc(length, fill === 'text' ? 'text\n' : 0)
  await put(place, file, bytes)
  return `${file} has ${length} bytes of ${fill}`
}

/** Removes a block, duplicates it, or replaces it by another one. */
const blocks: Misplacing = async (place) => {
  const file = place.random.pick(place.files)
  const bytes = await bytesOf(place, file)
  const parts = Array.from({ length: Math.ceil(bytes.length / BLOCK_BYTES) }, (_, block) =>
    bytes.subarray(block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES),
  )
  const [one, other] = [place.random.below(parts.length + 1), place.random.below(parts.length + 1)]
  const [block = Buffer.alloc(0)] = parts.splice(one, 1)
  if (place.random.once(2)) parts.splice(other, 0, block)
  if (place.random.once(3)) parts.splice(one, 0, block)
  await put(place, file, Buffer.concat(parts))
  return `block ${one} of ${file} was moved to ${other}`
}

const ALL: readonly Misplacing[] = [
  swap,
  replace,
  replace,
  double,
  append,
  cut,
  remove,
  move,
  plant,
  plant,
  plant,
  plantFolder,
  plantBytes,
  blocks,
]

/** Does one or two of these. @returns a description */
export async function misplace(
  directory: string,
  sources: Sources,
  random: Seeded,
): Promise<string> {
  const done: string[] = []
  for (let left = random.once(4) ? 2 : 1; left > 0; left--) {
    const files = (await plainFiles(directory)).filter((name) => !name.endsWith('/'))
    const readable: string[] = []
    for (const file of files) {
      const isFile = await readFile(join(directory, file)).then(Boolean, () => false)
      if (isFile) readable.push(file)
    }
    done.push(await random.pick(ALL)({ directory, files: readable, sources, random }))
  }
  return done.join('; ')
}

/** Mostly a file of the same kind: the right form does the most harm. */
function sourceFor({ sources, random }: Place, name: string): Sources[number] {
  const kind = (path: string) => basename(path).replaceAll(/\d+/g, '')
  const same = sources.filter(({ path }) => kind(path) === kind(name))
  return random.pick(same.length === 0 || random.once(3) ? sources : same)
}

/** A name that no file has. */
async function freeName(place: Place): Promise<string> {
  const name = databaseName(place)
  await rm(join(place.directory, 'kv', name), { recursive: true, force: true })
  return name
}

/** A name of LevelDB's form, with a number near those in use, or at an end of the range. */
function databaseName({ files, random }: Place): string {
  const used = files.flatMap((file) => (/\d+/.exec(file) ?? []).map(Number))
  const near = Math.max(0, random.pick(used) + random.below(5) - 2)
  const number = random.pick([
    near,
    near,
    near,
    near + 10,
    near + 1_000,
    0,
    2 ** 53,
    '18446744073709551615',
  ])
  const digits = random.once(5) ? String(number) : String(number).padStart(6, '0')
  const ending = random.pick(['log', 'log', 'log', 'ldb', 'sst', 'dbtmp', 'MANIFEST'])
  return ending === 'MANIFEST' ? `MANIFEST-${digits}` : `${digits}.${ending}`
}
