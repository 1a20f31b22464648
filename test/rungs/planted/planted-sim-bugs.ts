// Bugs that the crash simulator must find, each within 2,000 histories: see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'a stash that expires is deleted, and begins anew with the next chunk',
    file: 'stash-records.ts',
    find: 'puts: [\n      [key, expired],\n      [deadStashKey(head.nonce), EMPTY_RECORD],\n    ],',
    replace: 'deletes: [key], puts: [[deadStashKey(head.nonce), EMPTY_RECORD]],',
  },
  {
    name: 'a stash that has expired takes more chunks, and is used with those alone',
    file: 'stash-records.ts',
    find: 'checkIsWhole(stashId, head, fresh.number)',
    replace: '',
  },
  {
    name: 'a batch is not synced',
    file: 'level-database.ts',
    find: '{ ...ENCODINGS, sync }',
    replace: '{ ...ENCODINGS, sync: false }',
  },
  {
    name: 'small batches are not synced: their old log is lost, and later commits are there',
    file: 'level-database.ts',
    find: '{ ...ENCODINGS, sync }',
    replace: '{ ...ENCODINGS, sync: sync && operations.length > 5 }',
  },
  {
    name: 'a commit is answered before its batch is durable',
    file: 'commit-queue.ts',
    find: '      const isBarrier = group.some((queued) => queued.isBarrier)',
    replace: `      for (const { queued, result } of judged) queued.resolve(result)
      const isBarrier = group.some((queued) => queued.isBarrier)`,
  },
  {
    name: 'a failed write is ignored, and the next one is taken',
    file: 'commit-queue.ts',
    find: `      const failed = this.stop(failure)
      for (const { queued, writes } of judged) {
        queued.reject(writes ? failed : this.#refusal(failed))
      }`,
    replace: `      const failed = storageError(failure, 'A write failed', 'unknown')
      for (const { queued } of judged) queued.reject(failed)`,
  },
  {
    name: 'writes after a failed one are acknowledged',
    file: 'commit-queue.ts',
    find: 'if (this.#failed !== undefined) throw this.#refusal(this.#failed)',
    replace: 'if (this.#failed !== undefined) return resolve({ ok: true })',
  },
  {
    name: 'a failed write is told to have had no effect',
    file: 'commit-queue.ts',
    find: "storageError(failure, 'A write failed', 'unknown')",
    replace: "storageError(failure, 'A write failed', 'unchanged')",
  },
  {
    name: 'the checks of a commit are not looked at',
    file: 'commit-queue.ts',
    find: 'if (!sameValue(value, equals)) failed.push({ key, value })',
    replace: 'sameValue(value, equals)',
  },
  {
    name: 'a commit does not see what an earlier one of its group has changed',
    file: 'commit-queue.ts',
    find: 'return change === undefined ? (found.get(text) ?? null) : change.payload',
    replace: 'return found.get(text) ?? null',
  },
  {
    name: 'the commit sequence is not checked',
    file: 'commit-log.ts',
    find: '      miss(last + 1, sequence - 1)',
    replace: '',
  },
  {
    name: 'the database is not held against the high-water mark',
    file: 'level-kv.ts',
    find: 'atLeast: mark?.commit ?? 0',
    replace: 'atLeast: 0',
  },
  {
    name: 'the checksum of a record is not bound to its key',
    file: 'record-envelope.ts',
    find: "import { crc32 } from '../base/platform.js'",
    replace: `import { crc32 as crc32Of } from '../base/platform.js'
const crc32 = (bytes: Bytes, key?: number): number => (key === undefined ? 0 : crc32Of(bytes))`,
  },
  {
    name: 'the checksum of a record is not checked',
    file: 'record-envelope.ts',
    find: 'if (readUint32(value, 1) !== crc32(payload, crc32(key))) {',
    replace: 'if (value.length < 0) {',
  },
  {
    name: 'what a view has read comes into memory although it was written since',
    file: 'level-views.ts',
    find: 'if (moment !== this.#moment || this.#writing?.has(key)) return',
    replace: '',
  },
  {
    name: 'the database is opened again before the broken one is closed',
    file: 'level-sessions.ts',
    find: '    await session.database.close()\n',
    replace: '',
  },
  {
    name: 'after a refusal or a failure the table plans on what was not written',
    file: 'table-writer.ts',
    find: `this.#refused = true
        throw failure`,
    replace: 'throw failure',
  },
  {
    name: 'a change does not raise the version of its table',
    file: 'table-writer.ts',
    find: 'version: version + 1,',
    replace: 'version,',
  },
  {
    name: 'the rows of a new table come in a second commit',
    file: 'create-table.ts',
    find: `        ...records,
        ...kept.puts,
        ...ended.puts,
        ...markers,
        [TEAM_HEAD_KEY, encodeTeamHead(order + 1)],
        [catalogKey(order), encodeCatalogEntry({ table, name })],
        [tableHeadKey(table), encodeTableHead(head)],
      ],
    })`,
    replace: `        ...kept.puts,
        ...ended.puts,
        ...markers,
        [TEAM_HEAD_KEY, encodeTeamHead(order + 1)],
        [catalogKey(order), encodeCatalogEntry({ table, name })],
        [tableHeadKey(table), encodeTableHead(head)],
      ],
    })
    await team.partition.commit({ puts: records })`,
  },
  {
    name: 'a commit names segments that are not stored yet',
    file: 'stored-segments.ts',
    find: 'await objects.put(object, bytes)',
    replace: 'objects.put(object, Uint8Array.from(bytes)).catch(() => 0)',
  },
  {
    name: 'objects get their name before their bytes are on the disk',
    file: 'fault-objects.ts',
    find: 'object.isSynced = true\n      })',
    replace: 'object.isSynced = false\n      })',
  },
  {
    name: 'the folder of an object is not synced',
    file: 'fault-objects.ts',
    find: "await this.#flush('syncFolder', () => this.#files.syncFolder(id))",
    replace: '',
  },
  {
    name: 'a stash is used short',
    file: 'stash-records.ts',
    find: 'chunks: entries.sort((left, right) => order(left.serial, right.serial)),',
    replace: 'chunks: entries.sort((left, right) => order(left.serial, right.serial)).slice(0, 2),',
  },
  {
    name: 'two first chunks of a stash at once make it twice',
    file: 'stash-records.ts',
    find: '      { key: headKey, equals: headBytes },',
    replace: '',
  },
  {
    name: 'the sweep deletes objects without a second mark',
    file: 'sweep.ts',
    find: 'const doomed = due.filter((id) => this.#unnamed.has(id) && !isPending(id))',
    replace: 'const doomed = unnamed',
  },
  {
    name: 'the sweep takes objects that operations are about to name',
    file: 'object-ids.ts',
    find: 'this.#pending.add(id)',
    replace: '',
  },
  {
    name: 'the sweep does not see what stashes name',
    file: 'named-objects.ts',
    find: "for (const ref of decodeChunkSegments(reference).segments) { yield { kind: 'segment', ref, isOfTable: false } }",
    replace: 'decodeChunkSegments(reference)',
  },
  {
    name: 'a fold deletes its records before its segment is linked',
    file: 'fold.ts',
    find: `  try {
    const entry = rewrittenEntry(place.entry,`,
    replace: `  await deleteUnchanged(
    partition,
    [...records.values()].map(({ key, bytes: equals }) => ({ key, equals })),
  )
  try {
    const entry = rewrittenEntry(place.entry,`,
  },
  {
    name: 'a fold loses an update made meanwhile',
    file: 'delete-records.ts',
    find: '{ ...plan(left), checks: left }',
    replace: 'plan(left)',
  },
  {
    name: 'an overwritten generation is forgotten before what it had is deleted',
    file: 'sweep-generations.ts',
    find: 'return { puts: left.map(({ key, marked }) => [key, marked] as const) }',
    replace: 'return { deletes: left.map(({ key }) => key) }',
  },
  {
    name: 'the result of an add is not kept for its repeat',
    file: 'idempotency.ts',
    find: 'puts: [[key, record], ...hints] }',
    replace: 'puts: record.length < 0 ? [[key, record], ...hints] : [] }',
  },
  {
    name: 'the leaves of a file are not held against their checksums',
    file: 'sealed-content.ts',
    find: 'bytes.length > 0 && storedCrc(stored) === pieceCrc(idCrc, number, bytes)',
    replace: 'bytes.length > 0',
  },
  {
    name: 'in interval nothing is flushed when the interval is over',
    file: 'commit-queue.ts',
    find: 'if (this.#writer.isBehind) this.barrier().catch(() => undefined)',
    replace: '',
  },
  {
    name: 'in interval a barrier does not sync what is behind',
    file: 'commit-queue.ts',
    find: 'if (changes.size === 0 && !(isBarrier && this.#writer.isBehind)) return',
    replace: 'if (changes.size === 0) return',
  },
  {
    name: 'in interval the last commits are not synced by a close',
    file: 'commit-queue.ts',
    find: 'const last = this.#closed ? undefined : this.barrier().catch(() => undefined)',
    replace: 'const last = undefined',
  },
  {
    name: 'in interval LevelDB begins a new log before the old one is on the disk',
    file: 'batch-writer.ts',
    find: 'if (this.#tableBytes > flushBytes) await this.#flush()',
    replace: 'if (this.#tableBytes > 2 ** 40) await this.#flush()',
  },
  {
    name: 'in interval objects are deleted before the commits that let them go are on the disk',
    file: 'sweep.ts',
    find: 'if (doomed.length > 0) await kv.flush?.()',
    replace: '',
  },
  {
    name: 'in interval objects are not synced',
    file: 'sim/world.ts',
    find: "this.disk.objects(kv.durability !== 'none')",
    replace: "this.disk.objects(kv.durability === 'commit')",
  },
  {
    name: 'versions do not grow after a loss that nothing tells of',
    file: 'level-opening.ts',
    find: 'let isLost = expected.isUnsure',
    replace: 'let isLost = false',
  },
  {
    name: 'versions do not grow after a loss that was accepted',
    file: 'level-opening.ts',
    find: '    isLost = true\n',
    replace: '',
  },
  {
    name: 'a stash that may have lost chunks is used short',
    file: 'stash-records.ts',
    find: 'number >= first',
    replace: 'number >= 0',
  },
  {
    name: 'rows are added to an extent of before a loss, under IDs that were given out',
    file: 'append-rows.ts',
    find: 'kept.base === base &&',
    replace: 'kept.base <= base &&',
  },
  {
    name: 'a deleted table stays in the catalog',
    file: 'table/table-life.ts',
    find: 'change: { next: null, puts, deletes: [catalogKey(order)] }',
    replace: 'change: { next: null, puts }',
  },
  {
    name: 'a column that comes back shows its old cells',
    file: 'schema-record.ts',
    find: 'for (const id of ids) if (dropped.delete(id)) since.set(id, version)',
    replace: 'for (const id of ids) dropped.delete(id)',
  },
]
