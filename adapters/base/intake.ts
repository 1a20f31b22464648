// The intake of sources of rows, for the programs.
export * from '../../src/intake/advice.js'
export * from '../../src/intake/conversions.js'
export * from '../../src/intake/dialect.js'
export * from '../../src/intake/dialect-rules.js'
export { EMPTY_ROW, REJECT_COLUMNS } from '../../src/intake/fields.js'
export * from '../../src/intake/intake.js'
export * from '../../src/intake/sniff.js'
export * from '../../src/intake/text-bytes.js'
