// `Content-Disposition` (RFC 6266). The header is ASCII without a control character, whatever the name is.

/** Characters on which clients that do not know `filename*` disagree inside quotes. */
const NOT_IN_FALLBACK = /[^ -~]|["%\\]/gu

/** Characters that RFC 8187 wants encoded in an extended value and `encodeURIComponent` leaves. */
const LEFT_UNENCODED = /['()*]/g

/** @param fileName - Well-formed text. */
export function renderDisposition(kind: 'inline' | 'attachment', fileName: string): string {
  const fallback = fileName.replace(NOT_IN_FALLBACK, '_')
  const simple = `${kind}; filename="${fallback}"`
  return fallback === fileName ? simple : `${simple}; filename*=UTF-8''${encodeExtended(fileName)}`
}

function encodeExtended(text: string): string {
  return encodeURIComponent(text).replace(
    LEFT_UNENCODED,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
