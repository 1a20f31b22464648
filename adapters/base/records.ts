// Finding and cutting the records of a source, for the programs.
export * from '../../src/base/record-cutter.js'
export * from '../../src/base/record-scanner.js'
export * from '../../src/base/source-format.js'
export * from '../../src/base/spreadsheet-text.js'
