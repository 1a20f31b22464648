import { isWellFormed } from '../../../src/base/well-formed.js'
import { type ColumnKind, KIND_BIT } from '../../../src/schema/column-kind.js'
import { textKindMask } from '../../../src/schema/value-rules.js'

/** Whether the content of a JSON string fits a kind, by the rule of this kind. */
export function textFits(kind: ColumnKind, text: string): boolean {
  const bit = KIND_BIT[kind]
  return textKindMask(text, bit) === bit && isWellFormed(text)
}
