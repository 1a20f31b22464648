import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Collects garbage at once; the runtime alone may wait arbitrarily long. */
export const collectGarbage: () => void = runInNewContext('gc')
