// classic-level is CommonJS and contains a native module: a bundler must not include it.
import { createRequire } from 'node:module'

export const { ClassicLevel } = createRequire(import.meta.url)(
  'classic-level',
) as typeof import('classic-level')
