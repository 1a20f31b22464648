// Bugs in the deletion of everything of a team, each with the rung that must find it; see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

type Rung = 'model' | 'race' | 'crash' | 'fault-loop'

export const PLANTED_BUGS: readonly (PlantedBug & Readonly<{ test: Rung }>)[] = [
  {
    test: 'fault-loop',
    name: 'deleteAll deletes files and counts them still',
    file: 'delete-all.ts',
    find: 'const next = { files: head.files - found.length, bytes: head.bytes - bytes }',
    replace: 'const next = bytes < 0 ? { files: 0, bytes: 0 } : head',
  },
  {
    test: 'race',
    name: 'deleteAll deletes jobs after what they make',
    file: 'delete-all.ts',
    find: `await deleteJobs(deletion)
      const known = await recordsOf(partition, [FILE_MARKERS_RANGE, IDEMPOTENCY_RANGE])
      const found = [await deleteStashes(deletion), await deleteTables(deletion)]`,
    replace: `const known = await recordsOf(partition, [FILE_MARKERS_RANGE, IDEMPOTENCY_RANGE])
      const found = [await deleteStashes(deletion), await deleteTables(deletion)]
      await deleteJobs(deletion)`,
  },
  {
    test: 'model',
    name: 'deleteAll leaves what is kept under idempotency keys',
    file: 'delete-all.ts',
    find: 'const known = await recordsOf(partition, [FILE_MARKERS_RANGE, IDEMPOTENCY_RANGE])',
    replace: 'const known = await recordsOf(partition, [FILE_MARKERS_RANGE])',
  },
  {
    test: 'race',
    name: 'deleteAll forgets results of tables that came after it looked for tables',
    file: 'delete-all.ts',
    find: `const known = await recordsOf(partition, [FILE_MARKERS_RANGE, IDEMPOTENCY_RANGE])
      const found = [await deleteStashes(deletion), await deleteTables(deletion)]
      await deleteKeys(partition, await keysOf(partition, UPLOADS_RANGE))
      found.push(await deleteFiles(deletion))`,
    replace: `const found = [await deleteStashes(deletion), await deleteTables(deletion)]
      await deleteKeys(partition, await keysOf(partition, UPLOADS_RANGE))
      found.push(await deleteFiles(deletion))
      const known = await recordsOf(partition, [FILE_MARKERS_RANGE, IDEMPOTENCY_RANGE])`,
  },
  {
    test: 'race',
    name: 'deleteAll forgets the upload of a file that stays',
    file: 'delete-all.ts',
    find: `await deleteKeys(partition, await keysOf(partition, UPLOADS_RANGE))
      found.push(await deleteFiles(deletion))`,
    replace: `found.push(await deleteFiles(deletion))
      await deleteKeys(partition, await keysOf(partition, UPLOADS_RANGE))`,
  },
  {
    test: 'model',
    name: 'deleteAll skips stashes that have expired',
    file: 'delete-all.ts',
    find: 'await Promise.all(ids.map((id) => new TeamStash(team, id).delete()))',
    replace: `const skipping = async (stash: TeamStash): Promise<void> => {
      await stash.chunks().then(() => stash.delete(), () => false)
    }
    await Promise.all(ids.map((id) => skipping(new TeamStash(team, id))))`,
  },
  {
    test: 'crash',
    name: 'deleteAll leaves the stashes of a team without tables',
    file: 'delete-all.ts',
    find: 'const found = [await deleteStashes(deletion), await deleteTables(deletion)]',
    replace: `const hadTables = await deleteTables(deletion)
      const found = [hadTables && (await deleteStashes(deletion)), hadTables]`,
  },
  {
    test: 'fault-loop',
    name: 'a deleteAll that fails says that nothing was changed',
    file: 'delete-all.ts',
    find: "? withOutcome(known, 'unknown')",
    replace: "? withOutcome(known, 'unchanged')",
  },
]
