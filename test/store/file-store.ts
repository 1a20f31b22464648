// A store in memory with objects and records that a test can inspect.
import { MemoryLevel } from 'memory-level'
import { onTestFinished } from 'vitest'
import type { Store, StoredFile, StoreOptions, Team } from '../../src/index.js'
import { memoryObjects, openLevelKv, openStore } from '../../src/index.js'
import type { KvCommit, KvStore, ObjectStore, UploadRequest } from '../../src/ports.js'
import { inPieces, putTo, textOf } from '../conformance/store/upload-request.js'
import { type TestClock, testClock } from '../conformance/test-clock.js'
import { joinedMaintenance } from '../support/maintenance.js'

export const ABOUT = { fileName: 'a.txt', contentType: 'text/plain' } as const

export type FileStore = Readonly<{
  store: Store
  team: Team
  clock: TestClock
  kv: KvStore
  objects: ObjectStore
  /** The IDs of all objects. */
  listed(): Promise<readonly string[]>
  put(target: string, texts: readonly string[], more?: Partial<UploadRequest>): Promise<void>
  /** The bytes of a file as text. */
  read(file: StoredFile | string): Promise<string>
}>

/** Sees each commit of a store, and may delay it. */
export type BeforeCommit = (commit: KvCommit) => Promise<void>

export async function openFileStore(
  options: StoreOptions = {},
  wrap: (objects: ObjectStore) => ObjectStore = (objects) => objects,
  beforeCommit?: BeforeCommit,
): Promise<FileStore> {
  const clock = testClock()
  const database = new MemoryLevel<Uint8Array, Uint8Array>()
  const kv = await openLevelKv(database)
  const objects = wrap(memoryObjects())
  const maintenance = joinedMaintenance(
    { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0, fileCollectionIntervalMs: 0 },
    options.maintenance,
  )
  const watched = beforeCommit === undefined ? kv : watchCommits(kv, beforeCommit)
  const store = await openStore({ clock, ...options, maintenance, kv: watched, objects })
  onTestFinished(() => store.close())
  const team = store.team('acme')
  return {
    store,
    team,
    clock,
    kv,
    objects,
    listed: () => objects.list(''),
    put: (target, texts, more) => store.files.receive(putTo(target, texts, more)),
    async read(file) {
      const found = await team.files.get(typeof file === 'string' ? file : file.id)
      if (found === null) throw new Error('The file is not there')
      return textOf(found.stream())
    },
  }
}

function watchCommits(kv: KvStore, beforeCommit: BeforeCommit): KvStore {
  return {
    shared: kv.shared,
    close: () => kv.close(),
    partition(name) {
      const partition = kv.partition(name)
      return {
        read: (use) => partition.read(use),
        deleteRange: (range, count) => partition.deleteRange(range, count),
        async commit(commit) {
          await beforeCommit(commit)
          return partition.commit(commit)
        },
      }
    },
  }
}

/** The code with which the action fails. Rejects if it succeeds. */
export async function codeOf(action: Promise<unknown>): Promise<string> {
  try {
    await action
  } catch (failure) {
    const { code } = failure as { code?: string }
    if (code === undefined) throw failure
    return code
  }
  return 'no failure'
}

/** A promise that a test settles. */
export function gate(): Readonly<{ opened: Promise<void>; open: () => void }> {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/** A body that reports when its last piece is requested, and waits before it delivers that piece. */
export function pausedBody(texts: readonly string[]) {
  const [reached, released] = [gate(), gate()]
  async function* body(): AsyncGenerator<Uint8Array> {
    yield* inPieces(texts.slice(0, -1).map(utf8))
    reached.open()
    await released.opened
    yield* inPieces(texts.slice(-1).map(utf8))
  }
  return { body: body(), reached: reached.opened, release: released.open }
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
