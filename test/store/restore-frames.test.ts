// Backups whose frames are complete, with valid checksums, and do not belong together: none is restored.
import { MemoryLevel } from 'memory-level'
import { expect, test } from 'vitest'
import { utf8 } from '../../src/base/bytes.js'
import { type BackupFrame, BackupWriter } from '../../src/format/backup.js'
import { memoryObjects, openLevelKv, restoreBackup } from '../../src/index.js'

const OBJECT = '00112233445566770000000000000001'

const START: BackupFrame = {
  kind: 'start',
  start: { createdAt: 1_760_000_000_000, versionBase: 0, filesByReference: false },
}
const RECORDS: BackupFrame = {
  kind: 'records',
  partition: 'acme',
  records: [[utf8('key'), utf8('value')]],
}
const object = (bytes: number): BackupFrame => ({ kind: 'object', object: OBJECT, bytes })
const bytes = (text: string): BackupFrame => ({ kind: 'bytes', bytes: utf8(text) })
const end = (records: number, objects: number, objectBytes: number): BackupFrame => {
  return { kind: 'end', end: { records, objects, objectBytes } }
}

async function restore(
  frames: readonly BackupFrame[],
  change: (bytes: Uint8Array) => void = () => undefined,
): Promise<unknown> {
  const writer = new BackupWriter(utf8('backup-id-16byte'))
  const whole = Uint8Array.from(Buffer.concat(frames.map((frame) => writer.frame(frame))))
  change(whole)
  async function* source(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    yield whole
  }
  return restoreBackup(source(), {
    async open(versionBaseMin) {
      const database = new MemoryLevel<Uint8Array, Uint8Array>()
      return { kv: await openLevelKv(database, { versionBaseMin }), objects: memoryObjects() }
    },
  })
}

test('frames that belong together are restored', async () => {
  const frames = [START, RECORDS, object(7), bytes('segm'), bytes('ent'), end(1, 1, 7)]

  expect(await restore(frames)).toMatchObject({ records: 1, objects: 1, bytes: 7 })
})

test.each([
  ['without a start', [RECORDS, end(1, 0, 0)], 'its start frame is missing'],
  ['with a second start', [START, START, end(0, 0, 0)], '"start" is out of place'],
  ['with bytes of no object', [START, bytes('x'), end(0, 0, 0)], '"bytes" is out of place'],
  [
    'with more bytes than the object has',
    [START, object(3), bytes('four'), end(0, 1, 3)],
    'does not have 3 bytes',
  ],
  [
    'with too few bytes',
    [START, object(9), bytes('four'), RECORDS, end(1, 1, 9)],
    'does not have 9 bytes',
  ],
  [
    'that ends within an object',
    [START, object(9), bytes('four'), end(0, 1, 9)],
    'does not have 9 bytes',
  ],
  [
    'with more records than its end says',
    [START, RECORDS, end(0, 0, 0)],
    'its contents do not match the counts in its end frame',
  ],
  [
    'with fewer objects than its end says',
    [START, end(0, 1, 0)],
    'its contents do not match the counts in its end frame',
  ],
  [
    'with other bytes than its end says',
    [START, object(1), bytes('x'), end(0, 1, 2)],
    'its contents do not match the counts in its end frame',
  ],
] as const)('a backup %s is refused', async (_, frames, problem) => {
  await expect(restore(frames)).rejects.toMatchObject({
    code: 'DATA_CORRUPT',
    message: expect.stringContaining(problem),
  })
})

test('bytes that do not begin like a backup are refused, whatever follows', async () => {
  const restoring = restore([START, end(0, 0, 0)], (whole) => whole.set(utf8('RSTX')))

  await expect(restoring).rejects.toMatchObject({
    code: 'FORMAT_UNKNOWN',
    message: 'This is not a backup of a rowstash store',
  })
})
