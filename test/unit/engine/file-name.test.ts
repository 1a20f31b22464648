// Goal: a file name is a label: whatever it is, it reaches no folder, breaks no header, and is returned unchanged.
// Method: thousands of hostile names, by class. Each is stored in a directory, whose tree is compared, and served, and
// a separate parser reads its header.
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { validateHeaderValue } from 'node:http'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDirectory } from '../../../adapters/node.js'
import { renderDisposition } from '../../../src/contract/files/serve-file.js'
import { checkFileName, cleanFileName } from '../../../src/engine/files/file-name.js'
import { createContract, isStoreError, type StoredFile } from '../../../src/index.js'
import { anyCodePoint } from '../../support/code-points.js'
import { runOptions } from '../../support/fast-check-options.js'
import { sampleOf } from '../../support/what-runs.js'
import { parseDisposition } from './disposition-parser.js'
import { nastyNames } from './nasty-names.js'

const NAMES = nastyNames()

const SEPARATORS_AND_REFUSED = /[<>:"/\\|?*]/
const UNSEEN =
  /[\p{Cc}\p{Surrogate}\u061c\u115f\u1160\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e00ff}]|\u00ad|\u034f|\u180b|\u180e|\ufe00|\ufe0d|\u{e0100}/u
/** Joiners and selectors next to an ASCII letter, a digit or a dot. */
const UNJOINED = /[A-Za-z.](?:\u200c|\u200d|\ufe0e|\ufe0f)|(?:\u200c|\u200d)[A-Za-z\d.]/u
const DEVICE = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])\s*(\.|$)/i

function expectClean(name: string): void {
  expect(Buffer.byteLength(name)).toBeGreaterThan(0)
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255)
  expect(name).not.toMatch(SEPARATORS_AND_REFUSED)
  expect(name).not.toMatch(UNSEEN)
  expect(name).not.toMatch(UNJOINED)
  expect(name).not.toMatch(/[\s.]$|^\s/)
  expect(name).not.toMatch(DEVICE)
  expect(name.normalize('NFC')).toBe(name)
  expect(cleanFileName(name)).toBe(name)
}

describe('cleaning', () => {
  test('there are at least 2,000 nasty names, and each becomes a clean one', () => {
    expect(NAMES.length).toBeGreaterThanOrEqual(2_000)
    for (const name of NAMES) expectClean(cleanFileName(name))
  })

  test('any text becomes a clean name, and a clean name stays unchanged', () => {
    const text = fc.oneof(
      fc.string({ unit: anyCodePoint, maxLength: 400 }),
      fc
        .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 })
        .map((units) => String.fromCharCode(...units)),
      fc
        .array(fc.constantFrom(...'con.aux /\\ .\u0301\u202e\ud800e😀:'.split(''), ' ', '1'), {
          maxLength: 20,
        })
        .map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(text, (given) => expectClean(cleanFileName(given))),
      runOptions(2_000),
    )
  })

  test.each([
    ['report.pdf', 'report.pdf'],
    ['Größe & Maß (1).txt', 'Größe & Maß (1).txt'],
    ['日本語.txt', '日本語.txt'],
    ['👨‍👩‍👧‍👦.jpg', '👨‍👩‍👧‍👦.jpg'],
    ['❤️‍🔥 👩🏽‍🚀 1️⃣.jpg', '❤️‍🔥 👩🏽‍🚀 1️⃣.jpg'],
    ['نامه\u200cای.txt', 'نامه\u200cای.txt'],
    ['क्\u200dष.txt', 'क्\u200dष.txt'],
    ['in\u00advoice\u200d.\u200cpdf', 'invoice.pdf'],
    ['a\ufe0f1\ufe0f\u3164\u2800.txt', 'a1.txt'],
    ['a\u{e0041}\u{e007f}\u034f\u115f.txt', 'a.txt'],
    ['\u200d\u3164', 'file'],
    [`${'a'.repeat(244)}👩\u200d🚀.png`, `${'a'.repeat(244)}👩.png`],
    ['.gitignore', '.gitignore'],
    ['a%2fb.txt', 'a%2fb.txt'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\me\\a.txt', 'a.txt'],
    ['a/b/', 'b'],
    ['a\u0308.txt', 'ä.txt'],
    ['e\u200e\u0301', 'é'],
    ['photo_\u202egpj.exe', 'photo_gpj.exe'],
    ['a\r\nb\0c', 'abc'],
    ['a:b?c*d"e<f>g|h', 'a_b_c_d_e_f_g_h'],
    ['  a.txt. . ', 'a.txt'],
    ['con', 'con_'],
    ['CON.tar.gz', 'CON_.tar.gz'],
    ['com1 .txt', 'com1_ .txt'],
    ['console.txt', 'console.txt'],
    ['com10', 'com10'],
    ['a\ud800b', 'a_b'],
    ['', 'file'],
    ['..', 'file'],
    ['/', 'file'],
    ['\u200b', 'file'],
    [' . ', 'file'],
    [`${'a'.repeat(300)}.png`, `${'a'.repeat(251)}.png`],
    [`${'ä'.repeat(200)}.png`, `${'ä'.repeat(125)}.png`],
    [`${'😀'.repeat(100)}`, '😀'.repeat(63)],
    [`a.${'b'.repeat(300)}`, `a.${'b'.repeat(253)}`],
  ])('%j becomes %j', (given, clean) => {
    expect(cleanFileName(given)).toBe(clean)
  })

  test('a name that a client gives has 1 to 255 characters', () => {
    for (const name of ['a', 'a'.repeat(255), '😀'.repeat(255), '/', '\u0301'.repeat(255)]) {
      expectClean(checkFileName(name))
    }
    const wrong = [
      '',
      'a'.repeat(256),
      '😀'.repeat(256),
      'a'.repeat(10_240),
      null,
      1,
      undefined,
      ['a'],
    ]
    for (const name of wrong) {
      expect(() => checkFileName(name)).toThrow(
        expect.objectContaining({ code: 'REQUEST_VALIDATION_ERROR' }),
      )
    }
  })
})

describe('Content-Disposition', () => {
  test('of any clean name is a header that a client reads back', () => {
    for (const name of NAMES.map(cleanFileName)) {
      const header = renderDisposition('attachment', name)

      validateHeaderValue('content-disposition', header)
      expect(header).toMatch(/^[ -~]+$/)
      const { type, fileName, fallback } = parseDisposition(header)
      expect({ type, fileName }).toEqual({ type: 'attachment', fileName: name })
      expect(fallback).toMatch(/^[^"\\%/]+$/)
    }
  })

  test.each([
    ['a b.txt', 'inline; filename="a b.txt"'],
    ['ä.txt', `inline; filename="_.txt"; filename*=UTF-8''%C3%A4.txt`],
    ["it's (1).txt", `inline; filename="it's (1).txt"`],
    ["ü'(*)", `inline; filename="_'(*)"; filename*=UTF-8''%C3%BC%27%28%2A%29`],
    ['a%20b', `inline; filename="a_20b"; filename*=UTF-8''a%2520b`],
    ['😀', `inline; filename="_"; filename*=UTF-8''%F0%9F%98%80`],
  ])('of %j is %j', (name, header) => {
    expect(renderDisposition('inline', name)).toBe(header)
  })
})

/** Every file below a folder: its path, and a digest of its content. */
async function treeOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const tree = new Map<string, string>()
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const content = entry.isFile() ? await readFile(path) : 'folder'
    tree.set(relative(folder, path), createHash('sha256').update(content).digest('hex'))
  }
  return tree
}

const OBJECT = /^a\/b\/store\/objects\/[0-9a-f]{16}(?:\/[0-9a-f]{13}(?:\/[0-9a-f]{32})?)?$/
const RECORDS = /^a\/b\/store\/(?:kv\/|HIGHWATER$)/

const AT_ONCE = 64

describe('in a directory', () => {
  test('no name writes outside the folder of objects, and each is served under its clean name', async () => {
    const outer = await mkdtemp(join(tmpdir(), 'rowstash-names-'))
    onTestFinished(() => rm(outer, { recursive: true }))
    await mkdir(join(outer, 'a', 'b', 'etc'), { recursive: true })
    for (const path of ['passwd', 'a/escaped.txt', 'a/b/escaped.txt', 'a/b/etc/passwd']) {
      await writeFile(join(outer, path), 'as it was')
    }
    const store = await openDirectory(join(outer, 'a', 'b', 'store'))
    onTestFinished(() => store.close())
    const { files } = store.team('team')
    const names = [...sampleOf(NAMES), ...TARGETS_OF.map((path) => join(outer, path))]
    const before = await treeOf(outer)

    const stored: { name: string; file: StoredFile | null }[] = []
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const some = names.slice(at, at + AT_ONCE).map(async (name) => {
        const about = { fileName: name, contentType: 'text/plain' }
        const file = await files.put('x', about).catch((failure: unknown) => {
          if (isStoreError(failure) && failure.code === 'REQUEST_VALIDATION_ERROR') return null
          throw failure
        })
        return { name, file }
      })
      stored.push(...(await Promise.all(some)))
    }

    const after = await treeOf(outer)
    const changed = [...new Set([...before.keys(), ...after.keys()])]
      .filter((path) => before.get(path) !== after.get(path))
      .filter((path) => !RECORDS.test(path))
    expect(changed.filter((path) => !OBJECT.test(path))).toEqual([])

    const contract = createContract(store, { authenticate: async () => undefined })
    for (const { name, file } of stored) {
      if (file === null) {
        expect(name === '' || [...name].length > 255).toBe(true)
        continue
      }
      expect(file.fileName).toBe(cleanFileName(name))
      expect(file.path).toMatch(/^files\/rsf-[A-Za-z0-9_-]{32}\/[^/?#\s]+$/)
      const { status, headers } = await contract.handle({
        method: 'HEAD',
        path: `/${file.path}`,
        query: '',
        headers: [],
        body: (async function* () {})(),
      })
      expect(status).toBe(200)
      const disposition = parseDisposition(headers['content-disposition'] ?? '')
      expect(disposition).toMatchObject({ type: 'inline', fileName: file.fileName })
    }
    expect(stored.filter(({ file }) => file !== null).length).toBeGreaterThan(names.length * 0.9)
  })
})

/** Absolute paths that exist, or whose folder exists. */
const TARGETS_OF = [
  'passwd',
  'a/escaped.txt',
  'a/new.txt',
  'a/b/store/FORMAT',
  'a/b/store/kv/CURRENT',
]
