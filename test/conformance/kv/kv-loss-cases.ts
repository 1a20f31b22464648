// A store whose connections break: each commit happens once or not at all, and its caller learns which, or that this is
// unknown.
import assert from 'node:assert/strict'
import { isStoreError } from '../../../src/base/store-error.js'
import type { KvPartition, KvStore } from '../../../src/kv/kv.js'
import { bytes, put, text, textAt } from './kv-support.js'

/** A rule for a store whose connections `cut` breaks. */
export type LossRule = (store: KvStore, cut: () => void) => Promise<void>

const ROUNDS = 40

/** The outcome of a commit whose connection broke. */
type Told = 'written' | 'refused' | 'unchanged' | 'unknown'

async function told(commit: ReturnType<KvPartition['commit']>): Promise<Told> {
  try {
    return (await commit).ok ? 'written' : 'refused'
  } catch (failure) {
    assert.ok(isStoreError(failure), `a StoreError is expected, not ${failure}`)
    assert.equal(failure.code, 'STORAGE_UNAVAILABLE')
    assert.ok(failure.outcome !== undefined, 'a failed commit has an outcome')
    return failure.outcome
  }
}

/** Waits for a number of turns of the event loop, so that the cut hits each state of a commit. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setTimeout(resolve, 0))
}

export const kvLossCases: Readonly<Record<string, LossRule>> = {
  'a commit whose connection breaks happens once or not at all, as its caller is told': async (
    store,
    cut,
  ) => {
    const partition = store.partition('team')
    await put(partition, 'count', '0')
    const counts = { written: 0, refused: 0, unchanged: 0, unknown: 0 }
    let expected = 0
    for (let round = 0; round < ROUNDS; round++) {
      const present = bytes(`${expected}`)
      const next = bytes(`${expected + 1}`)
      const committed = told(
        partition.commit({
          checks: [{ key: bytes('count'), equals: present }],
          puts: [
            [bytes('count'), next],
            [bytes(`row-${round}`), next],
          ],
        }),
      )
      await turns(round % 5)
      cut()
      const outcome = await committed
      counts[outcome]++
      const found = await partition.read((view) =>
        view.getMany([bytes('count'), bytes(`row-${round}`)]),
      )
      const after = Number(text(found[0] ?? null))
      const happened = after === expected + 1
      assert.equal(found[1] !== null, happened, 'all of the commit or nothing')
      if (outcome !== 'unknown') assert.equal(happened, outcome === 'written', outcome)
      expected = after
    }

    assert.equal(counts.refused, 0, 'nobody else commits')
    assert.ok(counts.written > 0)
  },

  'commits in flight whose connections break take effect in their order': async (store, cut) => {
    const partition = store.partition('team')
    for (let round = 0; round < 10; round++) {
      const commits = Array.from({ length: 12 }, (_, index) =>
        told(partition.commit({ puts: [[bytes('key'), bytes(`${round}-${index}`)]] })),
      )
      await turns(round % 4)
      cut()
      const outcomes = await Promise.all(commits)
      const last = outcomes.lastIndexOf('written')
      const found = await textAt(partition, 'key')
      const possible = outcomes.flatMap((outcome, index) => {
        return index === last || (index > last && outcome === 'unknown')
          ? [`${round}-${index}`]
          : []
      })
      if (last >= 0) assert.ok(possible.includes(found ?? ''), `${found} of ${possible}`)
    }
  },

  'a view after a broken connection shows what was acknowledged': async (store, cut) => {
    const partition = store.partition('team')
    for (let round = 0; round < 10; round++) {
      await put(partition, 'key', `${round}`)
      cut()
      assert.equal(await textAt(partition, 'key'), `${round}`)
    }
  },
}
