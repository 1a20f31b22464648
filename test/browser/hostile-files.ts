// Files that act when a browser loads them. Each sends canaries: a request, and a message to the page that contains it.
// The `way` in the query of a file's URL says how it was loaded.

/** How a page, or a person, meets a file. */
export type Way =
  | 'navigate'
  | 'open'
  | 'iframe'
  | 'object'
  | 'embed'
  | 'img'
  | 'script'
  | 'stylesheet'
  | 'worker'

/** Ways in which a file can become a document. */
export const DOCUMENT_WAYS: readonly Way[] = ['navigate', 'open', 'iframe', 'object', 'embed']

export const WAYS: readonly Way[] = [...DOCUMENT_WAYS, 'img', 'script', 'stylesheet', 'worker']

export type HostileFile = Readonly<{
  fileName: string
  contentType: string
  bytes: Uint8Array
  /** Whether its type makes it a document, without any guess by the browser. */
  isDocument: boolean
  /** Ways that run it on a server without protection. No browser runs scripts of an `<img>`. */
  runsBy: readonly Way[]
}>

/** It contains no `<`, `&` or end of a comment, so that it can stand in every kind of file. */
const SCRIPT = `(function () {
  var own = self.document ? document.currentScript : null
  var at = (own ? own.src : '') || location.href
  ;[self.parent, self.opener].forEach(function (page) {
    try { page.postMessage({ canary: at }, '*') } catch (absent) {}
  })
  if (!self.document) self.postMessage({ canary: at })
  var canary = new URL('../../canary?by=script;at=' + encodeURIComponent(at), at)
  fetch(canary, { mode: 'no-cors', keepalive: true })
})()`

/** Content that acts without a script: it loads something, and navigates. */
function passiveMarkup(fileName: string): string {
  const canary = (by: string) => `../../canary?by=${by};file=${fileName}`
  return `<meta http-equiv="refresh" content="0;url=${canary('refresh')}"/><img src="${canary('load')}"/>`
}

function page(fileName: string): string {
  return `<!doctype html><html><body>${passiveMarkup(fileName)}<script>${SCRIPT}</script></body></html>`
}

function xhtml(fileName: string): string {
  const head = `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title>`
  return `${head}${passiveMarkup(fileName)}</head><body><script>${SCRIPT}</script></body></html>`
}

function xml(): string {
  return `<?xml version="1.0"?><list><script xmlns="http://www.w3.org/1999/xhtml">${SCRIPT}</script></list>`
}

function svg(): string {
  const size = 'width="8" height="8" viewBox="0 0 8 8"'
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}><rect width="8" height="8"/><script>${SCRIPT}</script></svg>`
}

/** Makes the rest of the script a comment. A style sheet has no comments that start with `//`. */
function tail(fileName: string): string {
  return `/*${page(fileName)}*///{}[title='${fileName}']{background:url(../../canary?by=style;file=${fileName})}`
}

/** A file that is a script, a page and a style sheet. */
function polyglot(fileName: string): string {
  return `${SCRIPT}${tail(fileName)}`
}

/** A file that is a picture of one line, 10,799 pixels wide (the bytes of this width are `/*`), a script and a page. */
function gif(fileName: string): Uint8Array {
  const picture = '01008000000000' + 'ffffff' + '2c00000000010001000002024401003b'
  return Buffer.concat([
    Buffer.from('GIF89a/*'),
    Buffer.from(picture, 'hex'),
    Buffer.from(`*/=1;${SCRIPT}${tail(fileName)}`),
  ])
}

type Content = (fileName: string) => string | Uint8Array

function hostile(
  fileName: string,
  contentType: string,
  content: Content,
  { isDocument = true, runsBy = [] }: Partial<Pick<HostileFile, 'isDocument' | 'runsBy'>>,
): HostileFile {
  const bytes = Uint8Array.from(Buffer.from(content(fileName)))
  return { fileName, contentType, bytes, isDocument, runsBy }
}

const DOCUMENT = { runsBy: DOCUMENT_WAYS }
/** A type that Chromium does not treat as a document. */
const OTHER = { isDocument: false }

export const HOSTILE_FILES: readonly HostileFile[] = [
  hostile('page.html', 'text/html', page, DOCUMENT),
  hostile('charset.html', 'text/html;charset=utf-8', page, DOCUMENT),
  hostile('drawing.svg', 'image/svg+xml', svg, DOCUMENT),
  hostile('page.xhtml', 'application/xhtml+xml', xhtml, DOCUMENT),
  hostile('text.xml', 'text/xml', xml, DOCUMENT),
  hostile('application.xml', 'application/xml', xml, DOCUMENT),
  hostile('resource.rdf', 'application/rdf+xml', xml, OTHER),
  hostile('formula.mml', 'application/mathml+xml', xml, OTHER),
  hostile('sheet.xsl', 'text/xsl', xml, DOCUMENT),
  hostile('polyglot.html', 'text/html', polyglot, {
    runsBy: [...DOCUMENT_WAYS, 'script', 'stylesheet'],
  }),
  hostile('gif.html', 'text/html', gif, { runsBy: [...DOCUMENT_WAYS, 'script'] }),
  hostile('page.gif', 'image/gif', gif, OTHER),
  hostile('page.png', 'image/png', page, OTHER),
  hostile('polyglot.png', 'image/png', polyglot, OTHER),
  hostile('page.txt', 'text/plain', page, OTHER),
  hostile('polyglot.txt', 'text/plain', polyglot, { ...OTHER, runsBy: ['script', 'worker'] }),
  hostile('polyglot.bin', 'application/octet-stream', polyglot, { ...OTHER, runsBy: ['script'] }),
  hostile('page.unknown', 'application/unknown', page, { ...OTHER, runsBy: DOCUMENT_WAYS }),
]

export function hostileFile(fileName: string): HostileFile {
  const file = HOSTILE_FILES.find((known) => known.fileName === fileName)
  if (file === undefined) throw new Error(`There is no hostile file ${fileName}`)
  return file
}
