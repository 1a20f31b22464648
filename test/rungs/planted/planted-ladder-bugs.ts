// One bug for each suite of the test ladder that has no list of its own, to show that it can fail; see
// planted-bugs.ts. Each names the test that must find it.
import type { PlantedBug } from './planted-bugs.js'

export type PlantedLadderBug = PlantedBug &
  Readonly<{
    test:
      | 'backend'
      | 'meta'
      | 'race'
      | 'fault-loop'
      | 'failover'
      | 'faults'
      | 'import-killed'
      | 'jobs-killed'
      | 'power-cut-root'
      | 'corrupt'
      | 'http-fuzz'
      | 'upgrade'
      | 'backup'
      | 'model-postgres'
      | 'fleet'
  }>

export const PLANTED_BUGS: readonly PlantedLadderBug[] = [
  {
    test: 'backend',
    name: 'a database deletes nothing',
    file: 'backend.test.ts',
    find: '(options) => new MemoryLevel<unknown, unknown>(options) as Database,',
    replace:
      '(options) => Object.assign(new MemoryLevel<unknown, unknown>(options), { _del: async () => {} }) as Database,',
  },
  {
    test: 'meta',
    name: 'a fold gives all rows of an extent one version',
    file: 'fold.ts',
    find: 'versions.push(laid?.version ?? old?.versionOf?.(slot) ?? entry.version)',
    replace: 'versions.push(entry.version)',
  },
  {
    test: 'race',
    name: 'what was read before a turn counts although others have changed the table since',
    file: 'shared-table-writer.ts',
    find: 'if (next !== undefined) return next.number',
    replace: 'if (last !== undefined) return next?.number ?? this.#commits',
  },
  {
    test: 'race',
    name: 'a change does not see what those before it write that are in flight',
    file: 'shared-table-writer.ts',
    find: 'return laid === undefined || laid.by.number < from ? undefined : laid.value',
    replace: 'return laid === undefined || from >= 0 ? undefined : laid.value',
  },
  {
    test: 'race',
    name: 'an answer rests on joined changes that may yet be refused',
    file: 'shared-table-writer.ts',
    find: 'if (this.#isSettled && !this.#refused) {',
    replace: 'if (from >= 0) {',
  },
  {
    test: 'race',
    name: 'a commit of joined changes does not check the head of the table',
    file: 'joined-commit.ts',
    find: '{ key: this.#headKey, equals: this.before }, ',
    replace: '',
  },
  {
    test: 'race',
    name: 'of two commits on one head both win',
    file: 'commit-queue.ts',
    find: 'if (!sameValue(value, equals)) failed.push({ key, value })',
    replace: 'sameValue(value, equals)',
  },
  {
    test: 'fault-loop',
    name: 'the database is not opened again after a failed write',
    file: 'commit-queue.ts',
    find: 'this.#options.onFailed(this.#failed)',
    replace: 'void 0',
  },
  {
    test: 'import-killed',
    name: 'a finalize leaves the last chunk of a stash out',
    file: 'stash-records.ts',
    find: 'chunks: entries.sort((left, right) => order(left.serial, right.serial)),',
    replace:
      'chunks: entries.sort((left, right) => order(left.serial, right.serial)).slice(0, -1),',
  },
  {
    test: 'jobs-killed',
    name: 'a job is not on the list of open jobs, so no later process finds it',
    file: 'job-runner.ts',
    find: 'await system.commit({ puts: [[openJobKey(job, team.teamId), EMPTY_RECORD]] })',
    replace: 'await system.read(async () => EMPTY_RECORD)',
  },
  {
    test: 'power-cut-root',
    name: 'on a real file system a commit is answered before it is on the disk',
    file: 'batch-writer.ts',
    find: "await writeBatch(this.#database, operations, durability === 'commit')",
    replace: 'await writeBatch(this.#database, operations, false)',
  },
  {
    test: 'corrupt',
    name: 'the checksum of a frame is not looked at',
    file: 'segment-footer.ts',
    find: 'if (readUint32(bytes, limit) !== pieceCrc(idCrc, offset, bytes.subarray(0, limit))) {',
    replace: 'if (readUint32(bytes, limit) < 0) {',
  },
  {
    test: 'http-fuzz',
    name: 'a request without a Host is refused without a body',
    file: 'node-http.ts',
    find: 'requireHostHeader: false,',
    replace: 'requireHostHeader: true,',
  },
  {
    test: 'upgrade',
    name: 'a number of the format is used for something else',
    file: 'keys.ts',
    find: '  row: 0x06,',
    replace: '  row: 0x12,',
  },
  {
    test: 'backup',
    name: 'a restored store goes on with the versions of the backup',
    file: 'restore.ts',
    find: 'start.versionBase + RESTORED_VERSION_STEP',
    replace: 'start.versionBase',
  },
  {
    test: 'model-postgres',
    name: 'a record is what it was when this process read it first',
    file: 'record-cache.ts',
    find: 'if (known !== undefined && Buffer.compare(known, value) === 0) return known',
    replace: 'if (known !== undefined) return known',
  },
  {
    test: 'fleet',
    name: 'an incarnation that gives no sign is never ended',
    file: 'sweep-incarnations.ts',
    find: 'now - since >= options.jobLeaseMs',
    replace: 'now < since',
  },
  {
    test: 'failover',
    name: 'a commit to PostgreSQL whose connection broke is taken for written',
    file: 'postgres-commits.ts',
    find: 'return last === number',
    replace: 'return last !== undefined || last === number',
  },
  {
    test: 'faults',
    name: 'a repeated put to S3 fails because its first attempt was written',
    file: 's3-upload.ts',
    find: 'if (this.#mayShow && (await isMarked(this.#client, this.#key, this.#mark))) return',
    replace: "if (this.#mayShow && this.#mark === '') return",
  },
]
