import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Collects what nobody refers to any more, at once: the runtime waits for as long as it likes. */
export const collectGarbage: () => void = runInNewContext('gc')
