// Functions of the host that are only told something, such as a logger.
import { warn } from './platform.js'
import { reasonOf } from './shown-text.js'

/** Calls a function of the host. @param name - Of the option. */
export type Tell = (name: string, call: () => unknown) => void

/**
 * Makes what tells the host something. If its function throws, or returns a promise that is rejected, the first failure
 * under each name becomes a process warning, and nothing else changes.
 */
export function createTell(): Tell {
  const failed = new Set<string>()
  return (name, call) => {
    const note = (failure: unknown): void => {
      if (failed.has(name)) return
      failed.add(name)
      const reason = reasonOf(failure) || `: ${typeof failure}`
      warn(`${name} failed${reason} (further failures are not reported)`, 'ROWSTASH_HOOK_FAILURE')
    }
    try {
      Promise.resolve(call()).catch(note)
    } catch (failure) {
      note(failure)
    }
  }
}
