// The cells of a text that a spreadsheet has copied.

/** A field with quotes around it, or one without. A quote inside a field without them is text. */
const FIELD = /"((?:[^"]|"")*)"(?=[\t\r\n]|$)|[^\t\r\n]*/y

/** @returns the cells by row. A line end behind the last row is none of them. */
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
