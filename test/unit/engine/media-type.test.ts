// Goal: an invalid media type is refused, and content that a browser could run is never shown.
// Method: a table of types that clients and attackers send, each refused, or with the type and disposition served.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { serveAs } from '../../../src/contract/files/serve-file.js'
import { parseMediaType } from '../../../src/engine/files/media-type.js'
import { anyCodePoint } from '../../support/code-points.js'
import { runOptions } from '../../support/fast-check-options.js'

type Served = 'refused' | `${'inline' | 'attachment'} ${string}`

/** How a file of this type is served, or that it is refused. */
function servedFor(given: string): Served {
  const mediaType = parseMediaType(given)
  if (mediaType === undefined) return 'refused'
  const { type, kind } = serveAs(mediaType.canonical)
  return `${kind} ${type}`
}

const TEXT = 'inline text/plain; charset=utf-8'

const SHOWN: readonly (readonly [given: string, served: Served])[] = [
  ['image/png', 'inline image/png'],
  ['IMAGE/PNG', 'inline image/png'],
  ['Image/Png', 'inline image/png'],
  ['image/jpeg', 'inline image/jpeg'],
  ['image/jpg', 'inline image/jpg'],
  ['image/gif', 'inline image/gif'],
  ['image/webp', 'inline image/webp'],
  ['image/avif', 'inline image/avif'],
  ['image/bmp', 'inline image/bmp'],
  ['image/png; charset=utf-8', 'inline image/png'],
  ['image/png;name="a.html"', 'inline image/png'],
  ['audio/mpeg', 'inline audio/mpeg'],
  ['audio/mp3', 'inline audio/mp3'],
  ['audio/mp4', 'inline audio/mp4'],
  ['audio/x-m4a', 'inline audio/x-m4a'],
  ['audio/aac', 'inline audio/aac'],
  ['audio/flac', 'inline audio/flac'],
  ['audio/ogg; codecs=opus', 'inline audio/ogg'],
  ['audio/webm;codecs="opus"', 'inline audio/webm'],
  ['audio/wav', 'inline audio/wav'],
  ['audio/x-wav', 'inline audio/x-wav'],
  ['audio/wave', 'inline audio/wave'],
  ['video/mp4', 'inline video/mp4'],
  ['video/mp4; codecs="avc1.42E01E, mp4a.40.2"', 'inline video/mp4'],
  ['video/webm', 'inline video/webm'],
  ['video/ogg', 'inline video/ogg'],
  ['text/plain', TEXT],
  ['TEXT/PLAIN', TEXT],
  ['text/plain;charset=utf-8', TEXT],
  ['text/plain; charset=UTF-8', TEXT],
  ['text/plain;charset="utf-8"', TEXT],
  ['text/plain ; charset=utf-8', TEXT],
  ['text/plain; charset=utf-7', TEXT],
  ['text/plain; charset=utf-16', TEXT],
  ['text/plain; charset=iso-2022-jp', TEXT],
  ['text/plain; charset=text/html', 'refused'],
  ['text/plain; charset="text/html"', TEXT],
  ['text/plain; format=flowed; delsp=yes', TEXT],
  ['text/plain; x="<script>"', TEXT],
  ['text/plain; x="; text/html"', TEXT],
  ['text/plain; x="\\""', TEXT],
  ['text/plain; x=""', TEXT],
]

const DOWNLOADED: readonly string[] = [
  // Markup and script, in all their spellings.
  'text/html',
  'TEXT/HTML',
  'tExT/hTmL',
  'text/html; charset=utf-8',
  'text/html;charset=utf-7',
  'text/html ;charset=utf-8',
  'text/html;  charset="utf-8"',
  'text/html; x=image-png',
  'text/html; a="image/png"',
  'application/xhtml+xml',
  'application/xhtml+xml; charset=utf-8',
  'application/vnd.wap.xhtml+xml',
  'text/xhtml',
  'image/svg+xml',
  'IMAGE/SVG+XML',
  'image/svg+xml; charset=utf-8',
  'image/svg+xml;charset="utf-8"',
  'image/svg',
  'image/svg-xml',
  'image/vnd.adobe.svg+xml',
  'text/xml',
  'text/xml; charset=utf-8',
  'application/xml',
  'application/xml-dtd',
  'application/xml-external-parsed-entity',
  'text/xml-external-parsed-entity',
  'application/mathml+xml',
  'application/mathml-presentation+xml',
  'application/mathml-content+xml',
  'text/mathml',
  'application/xsd+xml',
  'application/xsd',
  'text/xsd',
  'text/rdf',
  'text/rdf+xml',
  'application/rdf+xml',
  'application/rdf+xml; charset=utf-8',
  'text/xsl',
  'application/xslt+xml',
  'text/xslt',
  'application/atom+xml',
  'application/rss+xml',
  'application/soap+xml',
  'application/vnd.mozilla.xul+xml',
  'application/vnd.google-earth.kml+xml',
  'application/anything+xml',
  'image/anything+xml',
  'audio/anything+xml',
  'video/anything+html',
  'text/javascript',
  'application/javascript',
  'application/x-javascript',
  'application/ecmascript',
  'text/ecmascript',
  'text/jscript',
  'text/livescript',
  'text/vbscript',
  'text/x-component',
  'text/css',
  'text/cache-manifest',
  'application/manifest+json',
  'application/wasm',
  'application/x-shockwave-flash',
  'application/futuresplash',
  'application/x-silverlight-app',
  'application/java-archive',
  'application/x-java-applet',
  'application/x-java-jnlp-file',
  'application/hta',
  'application/x-ms-application',
  'application/x-mspublisher',
  'application/vnd.ms-htmlhelp',
  'application/x-chrome-extension',
  'application/x-xpinstall',
  'application/signed-exchange',
  'application/webbundle',
  'application/speculationrules+json',
  'application/importmap+json',
  // Documents with script or links of their own.
  'application/pdf',
  'APPLICATION/PDF',
  'application/pdf; version=1.7',
  'application/x-pdf',
  'text/pdf',
  'application/postscript',
  'application/rtf',
  'application/msword',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.ms-excel.sheet.macroEnabled.12',
  'message/rfc822',
  'message/http',
  'message/external-body',
  'application/http',
  'application/x-mimearchive',
  'application/epub+zip',
  'text/calendar',
  'text/vcard',
  'text/uri-list',
  'text/x-server-parsed-html',
  'application/x-httpd-php',
  'application/internet-shortcut',
  // Data.
  'application/json',
  'application/json; charset=utf-8',
  'application/ld+json',
  'text/csv',
  'text/csv; header=present',
  'text/tab-separated-values',
  'text/markdown',
  'text/markdown; variant=GFM',
  'text/x-yaml',
  'text/plain-',
  'text/plaintext',
  'text/x-plain',
  'application/text',
  'application/zip',
  'application/gzip',
  'application/octet-stream',
  'application/x-msdownload',
  'application/vnd.android.package-archive',
  'application/x-sh',
  'font/woff2',
  'model/gltf-binary',
  'image/tiff',
  'image/x-icon',
  'image/heic',
  'image/png+html',
  'image/pngx',
  'ximage/png',
  'audio/midi',
  'video/quicktime',
  'video/x-msvideo',
  'unknown/unknown',
  'foo/bar',
  'a/b',
  `a/${'b'.repeat(127)}`,
]

const MULTIPART: readonly string[] = [
  'multipart/x-mixed-replace',
  'multipart/x-mixed-replace; boundary=x',
  'multipart/related; boundary="x"; type="text/html"',
  'multipart/form-data; boundary=----x',
  'Multipart/Mixed',
]

const REFUSED: readonly string[] = [
  '',
  ' ',
  '/',
  'text',
  'text/',
  '/html',
  'text//html',
  'text/html/x',
  'text html',
  'text /html',
  'text/ html',
  ' text/html',
  'text/html ',
  'text/html\t',
  '\ttext/html',
  'text\t/html',
  'text/\thtml',
  'text/html\t;charset=utf-8',
  'text/html;\tcharset=utf-8',
  'text/html;charset\t=utf-8',
  'text/html;charset=\tutf-8',
  'text/html;charset=utf-8\t',
  'text/html\n',
  'text/html\r',
  'text/html\r\n',
  'text/html\r\nx: y',
  'text/csv\r\nx: y',
  'image/png\r\ncontent-type: text/html',
  'image/png;\r\n charset=utf-8',
  'image/png; x="\r\n"',
  'image/png; x="a\nb"',
  'image/png\0',
  'image/png\0text/html',
  'image\0/png',
  'image/png\x0b',
  'image/png\x0c; x=y',
  'image/png\x7f',
  'image/png\x80',
  'image/png\xa0',
  'image/png\u2028',
  'image/png\u3000; charset=utf-8',
  'image/p\u0274g',
  'im\u0430ge/png',
  '\ufeffimage/png',
  '\u212amage/png',
  'text/\u212a',
  'image/png,text/html',
  'image/png, text/html',
  'image/png;text/html',
  'image/png; text/html',
  'text/html,image/png',
  'image/png;',
  'image/png; ',
  'image/png;;charset=utf-8',
  'image/png; ;charset=utf-8',
  'image/png;charset',
  'image/png;charset=',
  'image/png;=utf-8',
  'image/png; charset =utf-8',
  'image/png; charset= utf-8',
  'image/png; charset=utf-8 x',
  'image/png; charset="utf-8',
  'image/png; charset=utf-8"',
  'image/png; charset="utf-8"x',
  'image/png; charset=x"utf-8"',
  "image/png; charset='ü'",
  'image/png; charset="ü"',
  'image/png; charset="\\\r"',
  'image/png; charset=utf-8; charset=utf-7',
  'text/plain; charset=utf-8; CHARSET=utf-7',
  'text/plain; a=b; a=b',
  'image/png; charset=utf-8;',
  'image/png charset=utf-8',
  'image/png (comment)',
  'image/png; x=(comment)',
  '"image/png"',
  '<image/png>',
  'image/<png>',
  'image/png>',
  'image\\png',
  'image/p:ng',
  'image/p@ng',
  'image/p?ng',
  'image/p=ng',
  'image/p"ng',
  "image/p'ng",
  'image/p%6eg',
  'image/{png}',
  'image/[png]',
  'image/p~ng',
  'image/p*ng',
  'image/p`ng',
  'image/p|ng',
  '*/*',
  'image/*',
  '*',
  '.image/png',
  'image/.png',
  '-image/png',
  'image/+xml',
  'data:text/html',
  'text/html;base64,PHNjcmlwdD4=',
  'null',
  'undefined',
  '[object Object]',
  'ⅼmage/png',
  'text/ｈtml',
  `${'a'.repeat(128)}/b`,
  `a/${'b'.repeat(128)}`,
  `a/b; c=${'d'.repeat(249)}`,
  `text/plain${'; a'.repeat(100)}`,
  'a'.repeat(100_000),
  `a/b${' '.repeat(100_000)}`,
  `a/b; c="${'\\'.repeat(100_000)}`,
]

describe('types that are shown in the browser', () => {
  test.each(SHOWN)('%j is %s', (given, served) => {
    expect(servedFor(given)).toBe(served)
  })
})

describe('types that are downloaded, as themselves and without parameters', () => {
  test.each(DOWNLOADED)('%j', (given) => {
    const [essence = ''] = given.toLowerCase().split(/ *;/)

    expect(servedFor(given)).toBe(`attachment ${essence}`)
  })
})

describe('types of many parts are nothing without their boundary', () => {
  test.each(MULTIPART)('%j', (given) => {
    expect(servedFor(given)).toBe('attachment application/octet-stream')
  })
})

describe('what is no media type', () => {
  test.each(REFUSED.map((given) => [given.slice(0, 60), given]))('%j', (_, given) => {
    expect(servedFor(given)).toBe('refused')
  })
})

test('the table has at least 150 types, each once', () => {
  const given = [...SHOWN.map(([type]) => type), ...DOWNLOADED, ...MULTIPART, ...REFUSED]

  expect(new Set(given).size).toBe(given.length)
  expect(given.length).toBeGreaterThan(150)
})

describe('a type read leniently', () => {
  test.each([
    [' text/csv\t', 'text/csv'],
    ['text/csv;', 'text/csv'],
    ['text/csv ; ;; header=present ;', 'text/csv; header=present'],
    ['text/csv\t;\tcharset\t=\t"utf-8"', 'text/csv; charset=utf-8'],
    ['text/csv; charset = UTF-8; CHARSET="utf-8"', 'text/csv; charset=utf-8'],
    ['text/csv; a="x;y = z"; a = "x;y = z"', 'text/csv; a="x;y = z"'],
  ])('%j is %j, and is refused when read strictly', (given, canonical) => {
    expect(parseMediaType(given, 'lenient')?.canonical).toBe(canonical)
    if (given !== canonical) expect(parseMediaType(given)).toBeUndefined()
  })

  test.each([
    'text/csv; charset=utf-8; charset=utf8',
    'text/csv; a=x; a=X',
    'text/csv; charset',
    'text/csv; charset=',
    'text/csv; charset=utf-8 x',
    'text/csv; charset="utf-8',
    'text/csv,text/csv',
    'text/csv\n',
    'text/csv;\u00a0charset=utf-8',
    `text/csv${' '.repeat(248)}`,
  ])('%j is no media type', (given) => {
    expect(parseMediaType(given, 'lenient')).toBeUndefined()
  })
})

describe('the canonical spelling', () => {
  test.each([
    ['Text/PLAIN', 'text/plain'],
    ['text/plain;charset=UTF-8', 'text/plain; charset=utf-8'],
    ['text/plain ;  charset="Utf-8"', 'text/plain; charset=utf-8'],
    ['text/plain; b=2; A=1', 'text/plain; a=1; b=2'],
    ['text/plain; b="x y"', 'text/plain; b="x y"'],
    ['text/plain; b="\\x\\"\\\\"', 'text/plain; b="x\\"\\\\"'],
    ['text/plain; b=""', 'text/plain; b=""'],
    ['multipart/mixed; boundary=AbC', 'multipart/mixed; boundary=AbC'],
    ['text/plain; __proto__=x; constructor=y', 'text/plain; __proto__=x; constructor=y'],
  ])('of %j is %j', (given, canonical) => {
    expect(parseMediaType(given)?.canonical).toBe(canonical)
  })

  test('is its own canonical spelling, ASCII without control characters, whatever was sent', () => {
    const token = fc.stringMatching(/^[A-Za-z0-9!#$&^_.+-]{1,12}$/)
    const value = fc.oneof(token, fc.stringMatching(/^"(?:[ !#-[\]-~]|\\[ -~]){0,12}"$/))
    const parameters = fc.uniqueArray(fc.tuple(token, value), {
      selector: ([name]) => name.toLowerCase(),
      maxLength: 4,
    })
    const spaces = fc.constantFrom('', ' ', '  ')
    fc.assert(
      fc.property(token, token, parameters, spaces, (type, subtype, given, space) => {
        const text = `a${type}/b${subtype}${given
          .map(([name, written]) => `${space};${space}${name}=${written}`)
          .join('')}`
        const canonical = parseMediaType(text)?.canonical

        expect(canonical).toMatch(/^[ -~]+$/)
        expect(parseMediaType(canonical ?? '')?.canonical).toBe(canonical)
      }),
      runOptions(1_000),
    )
  })

  test('any text is a media type or refused, without delay', () => {
    const anyText = fc.oneof(
      fc.string({ unit: anyCodePoint, maxLength: 300 }),
      fc.stringMatching(/^[a-z]\/[a-z](?: *; *[a-z]=?"?[\\" ]?){0,8}$/),
    )
    fc.assert(
      fc.property(anyText, (text) => {
        const served = servedFor(text)
        if (served !== 'refused') expect(served).toMatch(/^(inline|attachment) [ -~]+\/[ -~]+$/)
      }),
      runOptions(2_000),
    )
  })
})
