export { type Backoff, openBackoff } from '../../src/base/backoff.js'
