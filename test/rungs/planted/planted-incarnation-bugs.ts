// Bugs that the test of several processes on one store must find; see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'a commit that names new objects does not check their writer record',
    file: 'incarnation.ts',
    find: 'const all = [...(commit.checks ?? []), ...checks]',
    replace: 'const all = commit.checks ?? []',
  },
  {
    name: 'an add does not check the writer record of its objects',
    file: 'add-rows.ts',
    find: 'checks.push(...(isSync(own) ? own : await own))',
    replace: 'await own',
  },
  {
    name: 'an overwrite does not check the writer record of its objects',
    file: 'overwrite-rows.ts',
    find: 'checks: [...checks, ...(isSync(own) ? own : await own)],',
    replace: 'checks: isSync(own) ? checks : [...checks],',
  },
  {
    name: 'a file is stored without a check of the writer record of its object',
    file: 'files/files.ts',
    find: 'return { result: null, commit, objects: [content.object] }',
    replace: 'return { result: null, commit, objects: [] }',
  },
  {
    name: 'an incarnation is ended, and its writer records stay',
    file: 'sweep-incarnations.ts',
    find: 'await deleteWriters(kv.partition(teamId), names)',
    replace: 'kv.partition(teamId)',
  },
  {
    name: "an incarnation is judged by its owner's clock",
    file: 'sweep-incarnations.ts',
    find: 'now - since >= options.jobLeaseMs',
    replace: 'options.clock.now() >= record.until',
  },
  {
    name: 'an incarnation is ended although its lease has not passed',
    file: 'sweep-incarnations.ts',
    find: 'now - since >= options.jobLeaseMs',
    replace: 'now >= since',
  },
  {
    name: 'the record of an incarnation is not renewed',
    file: 'incarnation.ts',
    find: "this.publish().catch((failure: unknown) => background.report('lease', failure))",
    replace: "if (this.#hasEnded) background.report('lease', undefined)",
  },
  {
    name: 'objects that an incarnation has not called settled are swept by others',
    file: 'other-incarnations.ts',
    find: 'return counter >= record.settled || record.pending.includes(counter)',
    replace: 'return record.pending.includes(counter)',
  },
  {
    name: 'objects that an incarnation lists as pending are swept by others',
    file: 'other-incarnations.ts',
    find: 'return counter >= record.settled || record.pending.includes(counter)',
    replace: 'return counter >= record.settled',
  },
  {
    name: 'an object is put before others know of its incarnation',
    file: 'engine/store.ts',
    find: 'withCheckedPuts(onDisk, () => incarnation.ready(), pauses)',
    replace: 'withCheckedPuts(onDisk, () => undefined, pauses)',
  },
  {
    name: 'a writer record counts although its incarnation has ended',
    file: 'incarnation.ts',
    find: 'if (record !== null && !decodeIncarnation(record).hasEnded) return',
    replace: 'if (record === null || !decodeIncarnation(record).hasEnded) return',
  },
  {
    name: 'a process that was taken for ended goes on as the same incarnation',
    file: 'incarnation.ts',
    find: 'this.#parts.ids.beginAnew()',
    replace: '',
  },
  {
    name: 'a backup does not tell others that it holds objects',
    file: 'backup/backup.ts',
    find: 'await incarnation.publish()\n    heldAs = ids.incarnation',
    replace: 'heldAs = ids.incarnation',
  },
  {
    name: 'the sweep does not look for backups of others',
    file: 'other-incarnations.ts',
    find: 'isHeld: holds.isHeld || records.some(({ holdsObjects }) => holdsObjects),',
    replace: 'isHeld: holds.isHeld,',
  },
  {
    name: 'a backup contains the records of processes',
    file: 'backup/backup.ts',
    find: 'const NOT_KEPT: readonly number[] = [KEY_SPACE.incarnation, KEY_SPACE.writer,',
    replace: 'const NOT_KEPT: readonly number[] = [',
  },
  {
    name: 'a scan does not tell others which rows it reads',
    file: 'generations.ts',
    find: 'const unpin = team.pins.pin(generation.nonce)',
    replace: 'const unpin = () => team.pins.pin(generation.nonce)()',
  },
  {
    name: 'a scan reads rows that were overwritten before others knew of it',
    file: 'generations.ts',
    find: 'if (sameBytes(head.generation.nonce, generation.nonce)) {\n        return { generation,',
    replace: 'if (head.version > 0) {\n        return { generation,',
  },
  {
    name: 'the sweep does not look for scans of others',
    file: 'sweep-generations.ts',
    find: 'return dropping || !isPinned(generation.nonce)',
    replace: 'return dropping || generation.nonce !== null || isPinned(generation.nonce)',
  },
  {
    name: 'a verification calls what others have pending an orphan',
    file: 'verify-orphans.ts',
    find: 'if (isPending(id)) unnamed.delete(id)',
    replace: 'if (context.ids.isPending(id)) unnamed.delete(id)',
  },
]
