// The few forms of XML in S3. Answers are already bounded in size.
import { fromUtf8 } from '../../src/base/bytes.js'

/** Keys of one page of a listing. */
export type ListedKeys = Readonly<{ keys: readonly string[]; continuation: string | undefined }>

/** An answer as text. S3 sends only UTF-8. */
export function xmlText(body: Uint8Array): string {
  try {
    return fromUtf8(body)
  } catch {
    return ''
  }
}

/** The code and the message of an error; empty if there are none, as in a proxy's page. */
export function parseError(xml: string): Readonly<{ code: string; message: string }> {
  return { code: element(xml, 'Code') ?? '', message: element(xml, 'Message') ?? '' }
}

export function parseListing(xml: string): ListedKeys {
  const isTruncated = element(xml, 'IsTruncated') === 'true'
  const continuation = isTruncated ? element(xml, 'NextContinuationToken') : undefined
  return { keys: elements(xml, 'Key'), continuation }
}

/** IDs of a key's unfinished multipart uploads. */
export function parseUploads(xml: string, key: string): string[] {
  return [...xml.matchAll(/<Upload>(.*?)<\/Upload>/gs)]
    .map(([, upload = '']) => upload)
    .filter((upload) => element(upload, 'Key') === key)
    .map((upload) => element(upload, 'UploadId') ?? '')
    .filter((uploadId) => uploadId !== '')
}

export function parseXmlUploadId(xml: string): string | undefined {
  return element(xml, 'UploadId')
}

/** The first real error in the answer to a bulk delete: deleting a missing object is not an error. */
export function parseDeleteError(
  xml: string,
): Readonly<{ code: string; message: string }> | undefined {
  return [...xml.matchAll(/<Error>(.*?)<\/Error>/gs)]
    .map(([, error = '']) => parseError(error))
    .find(({ code }) => code !== 'NoSuchKey')
}

export function renderDelete(keys: readonly string[]): string {
  const objects = keys.map((key) => `<Object><Key>${key}</Key></Object>`)
  return `<Delete><Quiet>true</Quiet>${objects.join('')}</Delete>`
}

export function renderParts(etags: readonly string[]): string {
  const parts = etags.map((etag, i) => {
    return `<Part><PartNumber>${i + 1}</PartNumber><ETag>${xmlEscaped(etag)}</ETag></Part>`
  })
  return `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
}

function element(xml: string, name: string): string | undefined {
  return elements(xml, name)[0]
}

function elements(xml: string, name: string): string[] {
  const found = xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))
  return [...found].map(([, text = '']) => unescapeXml(text))
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
}

function unescapeXml(text: string): string {
  return text.replace(/&(#x?[0-9a-fA-F]{1,6}|[a-z]{2,4});/g, (whole, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name] ?? whole
    const isHex = name.startsWith('#x')
    const point = Number.parseInt(name.slice(isHex ? 2 : 1), isHex ? 16 : 10)
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole
  })
}

function xmlEscaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
