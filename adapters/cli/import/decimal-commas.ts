// Numbers of CSV with a comma before their decimals, as spreadsheets of many countries write them.

const DECIMAL_COMMA = /^( *-?(?:0|[1-9][0-9]*)),([0-9]+(?:[eE][-+]?[0-9]+)? *)$/

/** A number with a decimal comma as JSON writes it; any other text as it is. */
export function withPoint(text: string): string {
  return text.replace(DECIMAL_COMMA, '$1.$2')
}

/** Whether the comma of a number can be a separator of thousands too, as in `1,234`. */
export function mayBeThousands(text: string): boolean {
  return /^-?[1-9][0-9]{0,2},[0-9]{3}$/.test(text)
}
