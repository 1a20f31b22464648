// Files in the library: streams of all kinds, source URLs, and failures of the ports.
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import { decodeFilesHead } from '../../src/format/file-records.js'
import { FILES_HEAD_KEY, FILES_RANGE, UPLOADS_RANGE } from '../../src/format/keys.js'
import type { FileContent, StoreOptions } from '../../src/index.js'
import { StoreError } from '../../src/index.js'
import type { FetchedSource, ObjectStore, UrlFetcher } from '../../src/ports.js'
import { inPieces, textOf } from '../conformance/store/upload-request.js'
import { ABOUT, codeOf, type FileStore, openFileStore } from './file-store.js'

async function headOf({ kv }: FileStore) {
  const head = await kv.partition('acme').read((view) => view.get(FILES_HEAD_KEY))
  return head === null ? null : decodeFilesHead(head)
}

/** The number of records of files and uploads. */
async function recordCount({ kv }: FileStore): Promise<number> {
  return kv.partition('acme').read(async (view) => {
    const found = [FILES_RANGE, UPLOADS_RANGE].map((range) => view.scan({ ...range, count: 1_000 }))
    return (await Promise.all(found)).flat().length
  })
}

async function temporaryFile(content: Uint8Array | string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'rowstash-files-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const path = join(directory, 'content')
  await writeFile(path, content)
  return path
}

describe('streams', () => {
  const content = Buffer.alloc(3_000_001, 'pattern')

  test('of Node and of the web go in and come out as they are', async () => {
    const { team } = await openFileStore()
    const path = await temporaryFile(content)
    const sources: readonly FileContent[] = [
      createReadStream(path),
      Readable.from([content.subarray(0, 5), content.subarray(5)]),
      Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>,
      new Blob([content]).stream(),
    ]
    for (const source of sources) {
      const { id, bytes } = await team.files.put(source, ABOUT)
      expect(bytes).toBe(content.length)
      const file = await team.files.get(id)
      if (file === null) throw new Error('The file is there')
      await pipeline(file.stream(), createWriteStream(`${path}.node`))
      await pipeline(
        Readable.fromWeb(file.readable() as Parameters<typeof Readable.fromWeb>[0]),
        createWriteStream(`${path}.web`),
      )

      expect(content.equals(await readFile(`${path}.node`))).toBe(true)
      expect(content.equals(await readFile(`${path}.web`))).toBe(true)
      expect((await new Response(file.readable()).bytes()).length).toBe(content.length)
    }
  })

  test('of the web are read also where they cannot be iterated, and cancelled when it fails', async () => {
    const { team, read } = await openFileStore({ fileBytesMax: 10 })
    let cancels = 0
    const streamOf = (texts: readonly string[]) => {
      const left = [...texts]
      const stream = new ReadableStream<Uint8Array>({
        pull(controller) {
          const text = left.shift()
          if (text === undefined) controller.close()
          else controller.enqueue(new TextEncoder().encode(text))
        },
        cancel() {
          cancels++
        },
      })
      return Object.defineProperty(stream, Symbol.asyncIterator, { value: undefined })
    }
    expect(await read(await team.files.put(streamOf(['hello', ' you']), ABOUT))).toBe('hello you')
    expect(cancels).toBe(0)

    expect(await codeOf(team.files.put(streamOf(['hello', ' hello', 'x']), ABOUT))).toBe(
      'FILE_TOO_LARGE',
    )
    expect(cancels).toBe(1)
  })

  test('that fail at any point leave nothing', async () => {
    const files = await openFileStore()
    const path = await temporaryFile(content)
    for (let after = 0; after <= 3; after++) {
      async function* failing() {
        yield* inPieces(Array.from({ length: after }, () => content))
        throw new Error('of the source')
      }
      await expect(files.team.files.put(failing(), ABOUT)).rejects.toThrow('of the source')
    }
    const destroyed = createReadStream(path)
    destroyed.once('data', () => destroyed.destroy(new Error('destroyed')))
    await expect(files.team.files.put(destroyed, ABOUT)).rejects.toThrow('destroyed')

    expect(await files.listed()).toEqual([])
    expect([await headOf(files), await recordCount(files)]).toEqual([null, 0])
  })

  test('are not held in memory: bytes go on as they come', async () => {
    let [given, taken] = [0, 0]
    const { team } = await openFileStore({}, (objects) => ({
      ...portOf(objects),
      async put(_id, content) {
        let bytes = 0
        for await (const piece of content as AsyncIterable<Uint8Array>) {
          taken++
          expect(given - taken).toBe(0)
          bytes += piece.length
        }
        return bytes
      },
    }))
    async function* pieces() {
      for (; given < 100; ) {
        given++
        yield content.subarray(0, 65_536)
      }
    }

    expect((await team.files.put(pieces(), ABOUT)).bytes).toBe(100 * 65_536)
  })
})

function portOf(objects: ObjectStore): ObjectStore {
  return {
    put: (id, content) => objects.put(id, content),
    get: (id, range) => objects.get(id, range),
    stream: (id, range) => objects.stream(id, range),
    delete: (ids) => objects.delete(ids),
    list: (prefix, after) => objects.list(prefix, after),
    close: () => objects.close(),
  }
}

describe('bytes that were damaged', () => {
  test.each([
    ['changed', (bytes: Uint8Array) => bytes.fill(0, 70_000, 70_001)],
    ['cut off', (bytes: Uint8Array) => bytes.subarray(0, bytes.length - 1)],
    ['gone', () => new Uint8Array(0)],
  ])('are never given as a whole file: %s', async (_, damage) => {
    const { team, objects, listed } = await openFileStore()
    const content = Buffer.alloc(200_000, 'pattern')
    const { id } = await team.files.put(content, ABOUT)
    const file = await team.files.get(id)
    const [object = ''] = await listed()
    await objects.delete([object])
    await objects.put(object, damage(Uint8Array.from(content)))
    let given = 0
    const reading = (async () => {
      for await (const piece of file?.stream() ?? []) given += piece.length
    })()

    expect(await codeOf(reading)).toBe('DATA_CORRUPT')
    expect(given).toBeLessThan(content.length)
  })

  test('show in a range that has them, and in no other', async () => {
    const { team, objects, listed } = await openFileStore()
    const { id } = await team.files.put('0123456789'.repeat(10_000), ABOUT)
    const file = await team.files.get(id)
    if (file === null) throw new Error('The file is there')
    const [object = ''] = await listed()
    const stored = Buffer.from((await objects.get(object)) ?? [])
    const flipped = Buffer.from(stored)
    flipped[70_000] = 0x40
    for (const damaged of [stored.subarray(0, -1), flipped]) {
      await objects.delete([object])
      await objects.put(object, damaged)

      expect(await textOf(file.stream({ start: 2, limit: 8 }))).toBe('234567')
      const behind = file.stream({ start: 80_002, limit: 80_008 })
      expect(await codeOf(textOf(behind))).toBe('DATA_CORRUPT')
    }
  })
})

describe('the count of files and bytes', () => {
  test('is exact after any mix of operations', async () => {
    const files = await openFileStore({ quota: ({ bytes }) => bytes !== 13 })
    const { team, put } = files
    const work = Array.from({ length: 60 }, async (_, n) => {
      const text = 'x'.repeat(n % 17)
      if (n % 3 === 0) {
        const { uploadId, target } = await team.files.createUpload(ABOUT)
        await put(target, [text])
        return team.files.completeUpload(uploadId)
      }
      const file = await team.files.put(text, ABOUT)
      if (n % 3 === 1) await team.files.delete(file.id)
      return n % 3 === 1 ? undefined : file
    })
    const settled = await Promise.allSettled(work)
    const there = settled.flatMap((one) =>
      one.status === 'fulfilled' && one.value !== undefined ? [one.value] : [],
    )
    const refused = settled.filter(({ status }) => status === 'rejected')

    expect(refused.length).toBeGreaterThan(0)
    expect(await headOf(files)).toEqual({
      files: there.length,
      bytes: there.reduce((sum, { bytes }) => sum + bytes, 0),
    })
  })

  test('is exact also when others of the team, which know nothing of its turns, change files', async () => {
    const files = await openFileStore()
    const others = [files.team]
    for (let other = 0; other < 3; other++) {
      for (let i = 0; i < 1_100; i++) files.store.team(`team ${i}`) // more than a store remembers
      others.push(files.store.team('acme'))
    }
    expect(new Set(others).size).toBe(4)
    const stored = await Promise.all(
      Array.from({ length: 40 }, (_, n) => others[n % 4]?.files.put('x'.repeat(n), ABOUT)),
    )
    const deleted = stored.slice(0, 10)
    await Promise.all(deleted.map((file, n) => others[n % 3]?.files.delete(file?.id ?? '')))

    expect(await headOf(files)).toEqual({ files: 30, bytes: (39 * 40 - 9 * 10) / 2 })
  })
})

describe('a port that fails', () => {
  test('to write an object fails the operation, and leaves nothing', async () => {
    const full = new StoreError('INSUFFICIENT_STORAGE', 'full', { outcome: 'unchanged' })
    const files = await openFileStore({}, (objects) => ({
      ...portOf(objects),
      async put(id, content) {
        if (content instanceof Uint8Array) return objects.put(id, content)
        for await (const _ of content) throw full
        return objects.put(id, content)
      },
    }))
    const { target, uploadId } = await files.team.files.createUpload(ABOUT)

    expect(await codeOf(files.team.files.put('x', ABOUT))).toBe('INSUFFICIENT_STORAGE')
    expect(await codeOf(files.put(target, ['x']))).toBe('INSUFFICIENT_STORAGE')
    expect(await codeOf(files.team.files.completeUpload(uploadId))).toBe('UPLOAD_INCOMPLETE')
    expect(await files.listed()).toEqual([])
  })

  test('to delete a replaced object fails no call: garbage collection deletes it', async () => {
    let isBroken = true
    const { team, put, store, clock, listed, read } = await openFileStore(
      { orphanGraceMs: 0 },
      (objects) => ({
        ...portOf(objects),
        async delete(ids) {
          if (isBroken) throw new StoreError('STORAGE_UNAVAILABLE', 'not now')
          return objects.delete(ids)
        },
      }),
    )
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    await put(target, ['first'])
    await put(target, ['second'])
    const file = await team.files.completeUpload(uploadId)
    expect(await listed()).toHaveLength(2)
    isBroken = false
    await store.maintain()
    clock.pass(1)
    await store.maintain()

    expect(await listed()).toHaveLength(1)
    expect(await read(file)).toBe('second')
  })
})

type Asked = { url: string; bytesMax: number }

/** Sources that answer from a table; each counts how often it was closed. */
function fakeSources(answers: Readonly<Record<string, Partial<FetchedSource>>>) {
  const asked: Asked[] = []
  let closes = 0
  const sources: UrlFetcher = {
    async fetch(url, { bytesMax }) {
      asked.push({ url, bytesMax })
      const answer = answers[url]
      if (answer === undefined) throw new StoreError('SOURCE_URL_NOT_ALLOWED', 'no')
      return {
        contentType: undefined,
        fileName: undefined,
        url,
        body: inPieces([Buffer.from('con'), Buffer.from('tent')]),
        close: () => closes++,
        ...answer,
      }
    },
  }
  return { sources, asked, closes: () => closes }
}

async function openWithSources(
  answers: Readonly<Record<string, Partial<FetchedSource>>>,
  options: StoreOptions = {},
) {
  const fake = fakeSources(answers)
  const files = await openFileStore({ ...options, sources: fake.sources })
  return { ...files, ...fake }
}

describe('a file from a URL', () => {
  const URL = 'https://example.test/a/b.png?c=d/e'

  test('is stored with the name and the type that the source gives', async () => {
    const source = { contentType: 'Image/PNG; x=y', fileName: '../Größe?.png' }
    const { team, read, asked, closes } = await openWithSources({ [URL]: source })
    const file = await team.files.fromUrl(URL)

    expect(file).toMatchObject({ fileName: 'Größe_.png', contentType: 'image/png; x=y', bytes: 7 })
    expect(await read(file)).toBe('content')
    expect(asked).toEqual([{ url: URL, bytesMax: 5 * 1024 ** 3 }])
    expect(closes()).toBe(1)
  })

  test.each([
    [{}, 'b.png', 'application/octet-stream'],
    [{ fileName: '' }, 'b.png', 'application/octet-stream'],
    [{ contentType: 'text/html\u0000' }, 'b.png', 'application/octet-stream'],
    [{ contentType: '' }, 'b.png', 'application/octet-stream'],
    [{ url: 'https://x.test/' }, 'file', 'application/octet-stream'],
    [{ url: 'https://x.test' }, 'file', 'application/octet-stream'],
    [{ url: 'https://x.test/a%20b%2Fc.txt' }, 'c.txt', 'application/octet-stream'],
    [{ url: 'https://x.test/Gr%C3%B6%C3%9Fe' }, 'Größe', 'application/octet-stream'],
    [{ url: 'https://x.test/100%' }, '100%', 'application/octet-stream'],
    [{ url: 'https://x.test/%ff%00' }, '%ff%00', 'application/octet-stream'],
  ])('has a name and a type when the source says %o', async (source, fileName, contentType) => {
    const { team } = await openWithSources({ [URL]: source })

    expect(await team.files.fromUrl(URL)).toMatchObject({ fileName, contentType })
  })

  test('has the name and the type that the caller gives before all others', async () => {
    const source = { contentType: 'image/png', fileName: 'x.png' }
    const { team, asked } = await openWithSources({ [URL]: source })
    const about = { fileName: 'mine.txt', contentType: 'text/plain' }

    expect(await team.files.fromUrl(URL, about)).toMatchObject(about)
    asked.length = 0
    for (const wrong of [{ fileName: '' }, { contentType: 'x' }, { filename: 'x' }]) {
      expect(await codeOf(team.files.fromUrl(URL, wrong as never))).toBe('REQUEST_VALIDATION_ERROR')
    }
    expect(await codeOf(team.files.fromUrl(5 as never))).toBe('REQUEST_VALIDATION_ERROR')
    expect(asked).toEqual([])
  })

  test('that is too large, breaks off or is over the quota leaves nothing, and closes its source', async () => {
    async function* breaking(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('x')
      throw new StoreError('SOURCE_URL_TIMEOUT', 'too slow')
    }
    const answers = { [URL]: {}, 'https://slow.test/': { body: breaking() } }
    const files = await openWithSources(answers, { fileBytesMax: 6 })
    const { team, closes, listed, asked } = files
    expect(await codeOf(team.files.fromUrl(URL))).toBe('FILE_TOO_LARGE')
    expect(await codeOf(team.files.fromUrl('https://slow.test/'))).toBe('SOURCE_URL_TIMEOUT')
    expect(await codeOf(team.files.fromUrl('https://other.test/'))).toBe('SOURCE_URL_NOT_ALLOWED')

    expect([closes(), await listed(), await recordCount(files)]).toEqual([2, [], 0])
    expect(asked[0]).toEqual({ url: URL, bytesMax: 6 })
    const poor = await openWithSources({ [URL]: {} }, { quota: () => false })
    expect(await codeOf(poor.team.files.fromUrl(URL))).toBe('PAYMENT_REQUIRED')
    expect([poor.closes(), await poor.listed()]).toEqual([1, []])
  })

  test('is asked for with what the team has left', async () => {
    const { team, asked } = await openWithSources({ [URL]: {} }, { teamFileBytesMax: 10 })
    await team.files.put('12345678', ABOUT)

    expect(await codeOf(team.files.fromUrl(URL))).toBe('FILE_TOO_LARGE')
    expect(asked).toEqual([{ url: URL, bytesMax: 2 }])
  })

  test('is not fetched by a store without sources', async () => {
    const { team } = await openFileStore()

    expect(await codeOf(team.files.fromUrl(URL))).toBe('SOURCE_URL_NOT_ALLOWED')
  })

  test('waits for its turn as uploads do', async () => {
    let running = 0
    let most = 0
    async function* slow(): AsyncGenerator<Uint8Array> {
      most = Math.max(most, ++running)
      await new Promise((done) => setTimeout(done, 5))
      yield Buffer.from('x')
      running--
    }
    const sources: UrlFetcher = {
      fetch: async (url) => ({
        contentType: undefined,
        fileName: undefined,
        url,
        body: slow(),
        close: () => undefined,
      }),
    }
    const { team } = await openFileStore({ sources, filesInFlightMax: 3 })
    await Promise.all(Array.from({ length: 12 }, () => team.files.fromUrl(URL)))

    expect(most).toBe(2) // half of the places, rounded up
  })
})

describe('a directory', () => {
  async function openIn(options = {}) {
    const path = await mkdtemp(join(tmpdir(), 'rowstash-files-'))
    onTestFinished(() => rm(path, { recursive: true }))
    const store = await openDirectory(join(path, 'store'), options)
    return { path: join(path, 'store'), store }
  }

  test('keeps files, uploads, aliases and keys over a reopen', async () => {
    const { path, store } = await openIn()
    const { files } = store.team('acme')
    const file = await files.put('kept', ABOUT)
    const { uploadId, target } = await files.createUpload(ABOUT)
    await store.close()
    const again = await openDirectory(path)
    onTestFinished(() => again.close())
    const found = await again.files.open(file.id)
    expect(found && (await textOf(found.stream()))).toBe('kept')
    const [, query = ''] = target.split('?')
    const body = inPieces([Buffer.from('late')])
    const request = { uploadId, query, contentType: 'text/plain', contentLength: 4, body }
    await again.files.receive(request)
    const late = await again.team('acme').files.completeUpload(uploadId)

    expect(late.id.slice(0, 14)).toBe(file.id.slice(0, 14))
  })

  test('fetches from public addresses unless told otherwise', async () => {
    const { store } = await openIn()
    onTestFinished(() => store.close())
    const { files } = store.team('acme')

    expect(await codeOf(files.fromUrl('http://127.0.0.1:1/'))).toBe('SOURCE_URL_NOT_ALLOWED')
    const { store: open } = await openIn({ sources: { allowPrivate: true } })
    onTestFinished(() => open.close())
    const allowed = open.team('acme').files.fromUrl('http://127.0.0.1:1/')
    expect(await codeOf(allowed)).toBe('SOURCE_URL_FAILED')
  })

  test('takes a fetcher of its host', async () => {
    const { sources } = fakeSources({ 'x:y': { url: 'x:/y' } })
    const { store } = await openIn({ sources })
    onTestFinished(() => store.close())

    expect((await store.team('acme').files.fromUrl('x:y')).fileName).toBe('y')
  })

  test.each([[{ sources: true }], [{ sources: null }], [{ sources: { allowprivate: true } }]])(
    'refuses %o',
    async (options) => {
      expect(await codeOf(openIn(options))).toBe('OPTION_NOT_ALLOWED')
    },
  )
})

// Found by the crash simulator (damage: loseObject): the file was reported as deleted.
test('a file whose object is lost is damaged, and not one that was deleted', async () => {
  const { team, objects } = await openFileStore()
  const { id } = await team.files.put('content', ABOUT)
  const file = await team.files.get(id)
  await objects.delete(await objects.list(''))

  expect(await codeOf(textOf(file?.stream() ?? inPieces([])))).toBe('DATA_CORRUPT')
})
