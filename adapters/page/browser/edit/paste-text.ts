// The cells of a text copied from a spreadsheet.

/** A quoted field, or an unquoted one, in which quotes are text. */
const FIELD = /"((?:[^"]|"")*)"(?=[\t\r\n]|$)|[^\t\r\n]*/y

/** @returns the cells by row. A line end after the last row begins no further one */
export function cellsOfText(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [[]]
  for (let at = 0; ; ) {
    FIELD.lastIndex = at
    const [whole = '', quoted] = FIELD.exec(text) ?? []
    rows.at(-1)?.push(quoted === undefined ? whole : quoted.replaceAll('""', '"'))
    at += whole.length
    if (at >= text.length) return rows
    const isTab = text[at] === '\t'
    at += text.startsWith('\r\n', at) ? 2 : 1
    if (isTab) continue
    if (at >= text.length) return rows
    rows.push([])
  }
}
