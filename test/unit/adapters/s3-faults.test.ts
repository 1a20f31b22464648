// Concurrent operations on an S3 server that fails a third of the requests: nothing acknowledged is lost, and nothing
// that failed is listed.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openS3Objects } from '../../../adapters/s3/s3-objects.js'
import { isStoreError } from '../../../src/index.js'
import type { ObjectStore } from '../../../src/ports.js'
import { runOptions } from '../../support/fast-check-options.js'
import { S3Double } from '../../support/s3-double.js'
import { seeded } from '../../support/seeded.js'

const BYTES = [0, 1, 1_000, 70_000]
const BIG_BYTES = 9 * 1_024 * 1_024

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('put'), id: fc.nat(11), isBig: fc.constant(false) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('put'), id: fc.nat(11), isBig: fc.constant(true) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('get'), id: fc.nat(11), isBig: fc.constant(false) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('delete'),
      id: fc.nat(11),
      isBig: fc.constant(false),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('list'), id: fc.nat(11), isBig: fc.constant(false) }),
  },
)
type Step = Readonly<{ kind: string; id: number; isBig: boolean }>

function idOf(number: number): string {
  return `0123456789abcdef${number.toString(16).padStart(16, '0')}`
}

function contentOf(number: number, isBig: boolean): Uint8Array {
  const length = isBig ? BIG_BYTES : (BYTES[number % BYTES.length] ?? 0)
  return new Uint8Array(length).fill(number + 1)
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** The known state of the objects. After a failed delete it is unknown. */
class Journal {
  readonly digests = new Map<string, string>()
  readonly unknown = new Set<string>()
  /** IDs that were put. Each ID is used once. */
  readonly used = new Set<string>()

  /** IDs that must be listed now. Those being changed are checked at the end. */
  get certain(): string[] {
    return [...this.digests.keys()].filter((id) => !this.unknown.has(id)).sort()
  }
}

async function take(
  objects: ObjectStore,
  journal: Journal,
  { kind, id: number, isBig }: Step,
): Promise<void> {
  const id = idOf(number)
  if (kind === 'put') {
    if (journal.used.has(id)) return
    journal.used.add(id)
    const content = contentOf(number, isBig)
    const stored = await objects.put(id, content)
    if (stored !== content.length) throw new Error('The length is that of the content')
    journal.digests.set(id, digestOf(content))
  } else if (kind === 'delete') {
    if (!journal.digests.has(id)) return
    journal.unknown.add(id)
    await objects.delete([id])
    journal.digests.delete(id)
    journal.unknown.delete(id)
  } else if (kind === 'list') {
    await objects.list('')
  } else {
    const expected = journal.unknown.has(id) ? undefined : journal.digests.get(id)
    const found = await objects.get(id)
    if (expected === undefined || journal.unknown.has(id) || !journal.digests.has(id)) return
    if (found === null || digestOf(found) !== expected) throw new Error(`${id} was lost`)
  }
}

/** Accepts failures that the storage may have. Everything else is a bug. */
async function mayFail(work: Promise<void>): Promise<void> {
  await work.catch((failure: unknown) => {
    if (!isStoreError(failure) || failure.code !== 'STORAGE_UNAVAILABLE') throw failure
  })
}

test('nothing acknowledged is lost, and nothing that failed is listed', async () => {
  const run = async (seed: number, batches: readonly (readonly Step[])[]): Promise<void> => {
    const double = await S3Double.start()
    // So few attempts that some operations fail for good.
    const objects = await openS3Objects(double.options({ attemptsMax: 3, idleTimeoutMs: 40 }))
    double.failOften(seeded(seed))
    const journal = new Journal()
    try {
      for (const batch of batches) {
        await Promise.all(batch.map((each) => mayFail(take(objects, journal, each))))
      }
      double.recover()
      const listed = await objects.list('')
      expect(listed.filter((id) => !journal.unknown.has(id))).toEqual(journal.certain)
      for (const id of journal.certain) {
        const found = await objects.get(id)
        expect(found && digestOf(found)).toBe(journal.digests.get(id))
      }
    } finally {
      await objects.close()
      await double.stop()
    }
  }
  const batches = fc.array(fc.array(step, { maxLength: 8 }), { maxLength: 4 })
  const seed = fc.integer({ min: 1, max: 2 ** 31 - 1 })
  await fc.assert(fc.asyncProperty(seed, batches, run), runOptions(100))
})
