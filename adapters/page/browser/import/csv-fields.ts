/** The fields of one record of CSV or TSV, for the preview. What is imported is read by the store. */
export function parseCsvFields(record: string, separator: string): readonly string[] {
  const text = record.replace(/\r?\n$/, '')
  const fields: string[] = []
  for (let at = 0; at <= text.length; ) {
    const { field, end } = text[at] === '"' ? quotedField(text, at) : bareField(text, at, separator)
    fields.push(field)
    at = end + 1
  }
  return fields
}

type Field = Readonly<{ field: string; end: number }>

function bareField(text: string, start: number, separator: string): Field {
  const found = text.indexOf(separator, start)
  const end = found < 0 ? text.length : found
  return { field: text.slice(start, end), end }
}

function quotedField(text: string, start: number): Field {
  let end = start + 1
  while (end < text.length && (text[end] !== '"' || text[end + 1] === '"')) {
    end += text[end] === '"' ? 2 : 1
  }
  return { field: text.slice(start + 1, end).replaceAll('""', '"'), end: end + 1 }
}
