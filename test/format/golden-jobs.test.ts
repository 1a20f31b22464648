// Golden records of jobs.
import { describe, expect, test } from 'vitest'
import { type Bytes, toHex, utf8 } from '../../src/base/bytes.js'
import {
  decodeJob,
  decodeLease,
  decodeResult,
  encodeJob,
  encodeLease,
  encodeResult,
} from '../../src/format/job-records.js'
import * as keys from '../../src/format/keys.js'
import { golden, goldenBytes } from './golden-file.js'

const JOB = utf8('a job: 16 bytes.')
const RECORD = {
  kind: 'import',
  createdAt: 1_760_000_000_000,
  table: utf8('table-key-16byte'),
  note: '["app ✓"]',
} as const
const RUNNING = {
  ...RECORD,
  state: { name: 'running', request: '{"fromUrl":"https://example.com/größe.csv"}' },
} as const
const SUCCEEDED = {
  ...RECORD,
  kind: 'overwrite',
  state: { name: 'succeeded', endedAt: 1_760_000_001_000, version: 2 ** 40 + 9, parts: 2 },
} as const
const FAILED = {
  ...RECORD,
  kind: 'create',
  state: { name: 'failed', endedAt: 1_760_000_001_000, error: '{"message":"Größe"}' },
} as const
const LEASE = {
  owner: utf8('owner: 16 bytes.'),
  epoch: 3,
  until: 1_760_000_030_000,
  beat: 2 ** 33 + 1,
  rows: 7_000_000,
  bytes: 2 ** 40,
}
const RUNS = [
  { nonce: utf8('nonce--1'), extent: 513, firstSlot: 7, count: 2 },
  { nonce: utf8('nonce--2'), extent: 2 ** 40 + 1, firstSlot: 0, count: 65_536 },
]

const GOLDEN: Readonly<Record<string, () => Bytes>> = {
  'job-running': () => encodeJob(RUNNING),
  'job-succeeded': () => encodeJob(SUCCEEDED),
  'job-failed': () => encodeJob(FAILED),
  'job-lease': () => encodeLease(LEASE),
  'job-result': () => encodeResult(RUNS),
  'key-job': () => keys.jobKey(JOB),
  'key-job-lease': () => keys.jobLeaseKey(JOB),
  'key-job-result': () => keys.jobResultKey(JOB, 258),
  'key-open-job': () => keys.openJobKey(JOB, 'Größe'),
}

describe('records of jobs', () => {
  test.each(Object.entries(GOLDEN))('%s is written as FORMAT.md says', (name, write) => {
    const written = write()

    expect(toHex(written)).toBe(golden(name, written))
  })

  test('are read back to the values that were written', () => {
    expect(decodeJob(goldenBytes('job-running'))).toEqual(RUNNING)
    expect(decodeJob(goldenBytes('job-succeeded'))).toEqual(SUCCEEDED)
    expect(decodeJob(goldenBytes('job-failed'))).toEqual(FAILED)
    expect(decodeLease(goldenBytes('job-lease'))).toEqual(LEASE)
    expect(decodeResult(goldenBytes('job-result'))).toEqual(RUNS)
    expect(keys.decodeOpenJobKey(goldenBytes('key-open-job'))).toEqual({
      job: JOB,
      teamId: 'Größe',
    })
    expect(keys.jobOfKey(goldenBytes('key-job'))).toEqual(JOB)
    expect(keys.jobOfKey(goldenBytes('key-job-lease'))).toBeNull()
  })

  test.each(['job-running', 'job-succeeded', 'job-failed', 'job-lease', 'job-result'])(
    '%s is refused with another version, an unknown kind or state, and cut anywhere',
    (name) => {
      const bytes = goldenBytes(name)
      const decode =
        name === 'job-lease' ? decodeLease : name === 'job-result' ? decodeResult : decodeJob
      const refused = expect.objectContaining({ code: 'DATA_CORRUPT' })
      expect(() => decode(Uint8Array.of(2, ...bytes.subarray(1)))).toThrow(refused)
      if (decode === decodeJob) {
        for (const at of [1, 2]) expect(() => decode(bytes.with(at, 9))).toThrow(refused)
      }
      for (let length = 0; length < bytes.length; length++) {
        if (name === 'job-result' && length % 20 === 1) continue // to check fewer cases
        expect(() => decode(bytes.slice(0, length))).toThrow(refused)
      }
    },
  )
})
