// The codes of characters, for scanners outside of the core.
export * from '../../src/base/ascii.js'
