// classic-level is CommonJS and brings a native module beside its files: a bundler must leave it where it is.
import { createRequire } from 'node:module'

export const { ClassicLevel } = createRequire(import.meta.url)(
  'classic-level',
) as typeof import('classic-level')
