import assert from 'node:assert/strict'
import type { StoreErrorCode } from '../../../src/base/store-error.js'
import { isStoreError } from '../../../src/base/store-error.js'
import type { KvCommitResult, KvPartition, KvScan, KvStore } from '../../../src/kv/kv.js'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export function bytes(text: string): Uint8Array {
  return encoder.encode(text)
}

export function text(value: Uint8Array | null): string | null {
  return value === null ? null : decoder.decode(value)
}

export async function put(
  partition: KvPartition,
  key: string,
  value: string,
): Promise<KvCommitResult> {
  const result = await partition.commit({ puts: [[bytes(key), bytes(value)]] })
  assert.equal(result.ok, true)
  return result
}

/** Puts a record with value `=<key>` for each key. */
export async function putAll(partition: KvPartition, keys: readonly string[]): Promise<void> {
  await partition.commit({ puts: keys.map((key) => [bytes(key), bytes(`=${key}`)] as const) })
}

export function textAt(partition: KvPartition, key: string): Promise<string | null> {
  return partition.read(async (view) => text(await view.get(bytes(key))))
}

/** Keys of the range, in the order of the scan. */
export async function keysOf(
  partition: KvPartition,
  scan: Partial<KvScan> = {},
): Promise<(string | null)[]> {
  const whole = { start: bytes(''), limit: Uint8Array.of(0xff), count: 1_000 }
  const entries = await partition.read((view) => view.scan({ ...whole, ...scan }))
  return entries.map(([key]) => text(key))
}

/** Increments a counter, and repeats until nobody was faster. Each refusal brings the new value. */
export async function increment(partition: KvPartition): Promise<void> {
  let present = await partition.read((view) => view.get(bytes('counter')))
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const next = bytes(`${Number(text(present) ?? '0') + 1}`)
    const result = await partition.commit({
      checks: [{ key: bytes('counter'), equals: present }],
      puts: [[bytes('counter'), next]],
    })
    if (result.ok) return
    present = result.failed[0]?.value ?? null
  }
  throw new Error('a counter was never free')
}

export async function rejectsWithCode(
  action: Promise<unknown>,
  code: StoreErrorCode,
): Promise<void> {
  await assert.rejects(action, (failure) => {
    assert.ok(isStoreError(failure), `a StoreError is expected, not ${failure}`)
    assert.equal(failure.code, code)
    return true
  })
}

export type KvRules = Readonly<
  Record<string, (partition: KvPartition, store: KvStore) => Promise<void>>
>
