// Bugs that only a crash, a power cut or a full disk shows. Each names the test that must find it; see
// planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export type PlantedCrashBug = PlantedBug & Readonly<{ test: 'kill' | 'power-cut' | 'disk-full' }>

export const PLANTED_BUGS: readonly PlantedCrashBug[] = [
  {
    test: 'power-cut',
    name: 'the bytes of an object are not flushed',
    file: 'fs-calls.ts',
    find: ' | constants.O_DSYNC',
    replace: '',
  },
  {
    test: 'power-cut',
    name: 'the bytes of an object that come in pieces are not flushed',
    file: 'fs-objects.ts',
    find: 'if (this.#sync) await writing(() => syncData(descriptor))',
    replace: '',
  },
  {
    test: 'power-cut',
    name: 'the folder of an object that comes in pieces is not synced',
    file: 'fs-objects.ts',
    find: `await writing(() => renameFile(temporary, path))
      await writing(() => this.#folders.sync(inner))`,
    replace: 'await writing(() => renameFile(temporary, path))',
  },
  {
    test: 'power-cut',
    name: 'the folder of an object in one piece is not synced',
    file: 'fs-objects.ts',
    find: '      writing(() => this.#folders.sync(inner)),\n    ]).finally',
    replace: '    ]).finally',
  },
  {
    test: 'power-cut',
    name: 'a new folder of objects is not entered in its parent on the disk',
    file: 'fs-folders.ts',
    find: '    await this.sync(dirname(path))\n    this.#durable.set(path, true)',
    replace: '    this.#durable.set(path, true)',
  },
  {
    test: 'power-cut',
    name: 'a commit is answered before it is on the disk',
    file: 'batch-writer.ts',
    find: "await writeBatch(this.#database, operations, durability === 'commit')",
    replace: 'await writeBatch(this.#database, operations, false)',
  },
  {
    test: 'power-cut',
    name: 'the high-water mark is raised before the batch is on the disk',
    file: 'commit-queue.ts',
    find: '    views.beforeBatch(writes)\n',
    replace: '    views.beforeBatch(writes)\n    onDurable(record.log.last)\n',
  },
  {
    test: 'power-cut',
    name: 'the files of a new database are not flushed',
    file: 'directory-creation.ts',
    find: "  await syncFiles(join(directory, 'kv'))\n",
    replace: '',
  },
  {
    test: 'power-cut',
    name: 'a new store gets its name before its folder is on the disk',
    file: 'directory-creation.ts',
    find: "  await syncDirectory(join(directory, 'objects'))\n  await syncDirectory(directory)\n",
    replace: '',
  },
  {
    test: 'power-cut',
    name: 'the name of a new store is not on the disk when it is used',
    file: 'directory-creation.ts',
    find: '    await syncDirectory(parent)\n    return filled',
    replace: '    return filled',
  },
  {
    test: 'power-cut',
    name: "LevelDB's folder is not synced after an opening",
    file: 'directory.ts',
    find: 'database.hooks.postopen.add(() => syncDirectory(folder))',
    replace: '',
  },
  {
    test: 'kill',
    name: 'a commit is answered before it is written',
    file: 'batch-writer.ts',
    find: "await writeBatch(this.#database, operations, durability === 'commit')",
    replace:
      "writeBatch(this.#database, operations, durability === 'commit').catch(() => undefined)",
  },
  {
    test: 'kill',
    name: 'a commit is written in two batches',
    file: 'level-database.ts',
    find: '  return database.batch<Bytes, Bytes>(operations, options)\n',
    replace:
      '  const [first, rest] = [operations.slice(0, 1), operations.slice(1)]\n' +
      '  const written = database.batch<Bytes, Bytes>(first, options)\n' +
      '  return written.then(() => database.batch<Bytes, Bytes>(rest, options))\n',
  },
  {
    test: 'kill',
    name: 'what a crash leaves of an object is never removed',
    file: 'fs-objects.ts',
    find: '    await removeTemporaryFiles(directory, shared)\n',
    replace: '',
  },
  {
    test: 'kill',
    name: 'a sweep deletes no objects',
    file: 'sweep.ts',
    find: 'await objects.delete(some)',
    replace: '',
  },
  {
    test: 'disk-full',
    name: 'the queue goes on after a failed write',
    file: 'commit-queue.ts',
    find: '      const failed = this.stop(failure)\n',
    replace:
      "      const failed = storageError(failure, 'A write failed', 'unknown')\n" +
      '      for (const { queued } of judged) queued.reject(failed)\n      return\n',
  },
  {
    test: 'disk-full',
    name: 'the database is not opened again after a failed write',
    file: 'commit-queue.ts',
    find: '      this.#options.onFailed(this.#failed)\n',
    replace: '',
  },
  {
    test: 'disk-full',
    name: 'a failed write is said to have changed nothing',
    file: 'commit-queue.ts',
    find: "storageError(failure, 'A write failed', 'unknown')",
    replace: "storageError(failure, 'A write failed', 'unchanged')",
  },
  {
    test: 'disk-full',
    name: 'what a failed put of pieces has written stays',
    file: 'fs-objects.ts',
    find: '      await removeRemains(temporary)\n',
    replace: '',
  },
  {
    test: 'disk-full',
    name: 'what a failed put of bytes in one piece has written stays',
    file: 'fs-objects.ts',
    find: '      await removeRemains(path)\n      throw failure\n    }\n    return bytes.length',
    replace: '      throw failure\n    }\n    return bytes.length',
  },
]
