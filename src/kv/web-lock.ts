// IndexedDB lets every tab write. A lock of the browser keeps a database to one of them, as LevelDB's file does.
import { StoreError } from '../base/store-error.js'

type LockOptions = Readonly<{ ifAvailable: true }>

/** As much of the Web Locks API as is needed. */
type WebLocks = Readonly<{
  request(
    name: string,
    options: LockOptions,
    use: (lock: object | null) => Promise<void>,
  ): Promise<unknown>
}>

/**
 * Takes the lock of a database, where the runtime has such locks.
 * @returns what gives it back.
 * @throws {StoreError} STORE_LOCKED
 */
export function takeWebLock(location: string): Promise<() => void> {
  const { navigator, isSecureContext } = globalThis as {
    navigator?: { locks?: WebLocks }
    isSecureContext?: boolean
  }
  const { locks } = navigator ?? {}
  if (locks === undefined && isSecureContext === false) {
    const problem = `The database ${location} cannot be locked, so another tab could write it too`
    const remedy = 'browsers have locks only in pages from HTTPS or localhost'
    return Promise.reject(new StoreError('STORE_LOCKED', `${problem}: ${remedy}`))
  }
  if (locks === undefined) return Promise.resolve(() => undefined)
  return new Promise((resolve, reject) => {
    const use = (lock: object | null): Promise<void> => {
      if (lock !== null) return new Promise((release) => resolve(release))
      const problem = `The database ${location} is open in another tab or worker`
      reject(new StoreError('STORE_LOCKED', problem))
      return Promise.resolve()
    }
    locks.request(`rowstash ${location}`, { ifAvailable: true }, use).catch(reject)
  })
}
