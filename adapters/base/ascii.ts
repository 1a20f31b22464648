// Character codes, for scanners outside the core.
export * from '../../src/base/ascii.js'
