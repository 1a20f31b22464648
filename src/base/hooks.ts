// Functions of the host that are only notified, such as a logger.
import { warn } from './platform.js'
import { reasonOf } from './shown-text.js'

/** Calls a function of the host. @param name - The name of its option. */
export type Tell = (name: string, call: () => unknown) => void

/**
 * Makes a `Tell`. If the host's function throws, or returns a promise that rejects, the first failure per name becomes
 * a process warning, and nothing else changes.
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
