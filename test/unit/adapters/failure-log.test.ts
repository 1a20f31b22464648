// Goal: a server under load prints few lines, and omits none of its failures.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FailureLog } from '../../../adapters/cli/server/failure-log.js'
import { busy } from '../../../src/contract/http/refusal.js'
import { StoreError } from '../../../src/index.js'

const MINUTE_MS = 60_000

let lines: string[] = []
let log: FailureLog

beforeEach(() => {
  vi.useFakeTimers()
  lines = []
  log = new FailureLog((line) => lines.push(line))
})

afterEach(() => {
  vi.useRealTimers()
})

function unavailable(message = 'There is no memory', cause?: Error): StoreError {
  return new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged', cause })
}

test('a refusal is one line without a stack, at once', () => {
  log.note(unavailable('The disk is gone', new Error('EIO:\ni/o error')))
  log.note(new StoreError('INSUFFICIENT_STORAGE', 'The disk is full', { outcome: 'unknown' }))
  const cause = new Error('The lock was removed')
  log.note(new StoreError('DATA_LOSS', 'The lock was removed', { cause }))

  expect(lines).toEqual([
    'rowstash: The disk is gone: EIO: i/o error',
    'rowstash: The disk is full',
    'rowstash: The lock was removed',
  ])
})

test('a wait of the contract that took too long is one line too', () => {
  log.note(busy('This key is at its limit of 2 requests, and none ended within 1 s'))

  expect(lines).toEqual([
    'rowstash: This key is at its limit of 2 requests, and none ended within 1 s: nothing was changed; try again',
  ])
})

test('a fault is printed with its stack', () => {
  log.note(new TypeError('x is not a function'))
  log.note(new StoreError('DATA_CORRUPT', 'A checksum mismatch'))
  log.note('thrown text')

  expect(lines[0]).toMatch(/^TypeError: x is not a function\n +at /)
  expect(lines[1]).toMatch(/^StoreError: A checksum mismatch\n +at /)
  expect(lines[2]).toBe('thrown text')
})

test('what repeats is counted, and told once a minute', () => {
  const fault = new Error('fault')
  for (let n = 0; n < 1_235; n++) log.note(unavailable())
  for (let n = 0; n < 2; n++) log.note(fault)
  expect(lines).toEqual(['rowstash: There is no memory', fault.stack])
  vi.advanceTimersByTime(MINUTE_MS)
  expect(lines.slice(2)).toEqual([
    'rowstash: There is no memory (1,234 times more)',
    'Error: fault (once more)',
  ])
  vi.advanceTimersByTime(10 * MINUTE_MS)
  log.note(unavailable())

  expect(lines.slice(4)).toEqual(['rowstash: There is no memory'])
})

test('a fault that comes from several places is printed once', () => {
  const faults = [new Error('fault'), new Error('fault')]
  for (const fault of faults) log.note(fault)
  log.close()

  expect(lines).toEqual([faults[0]?.stack, 'Error: fault (once more)'])
})

test('what was counted is told at the end', () => {
  log.note(unavailable())
  log.note(unavailable())
  log.close()
  log.close()

  expect(lines.slice(1)).toEqual(['rowstash: There is no memory (once more)'])
  expect(vi.getTimerCount()).toBe(0)
})

test('failures of more than 100 kinds are counted together', () => {
  for (let n = 0; n < 103; n++) log.note(unavailable(`kind ${n}`))
  log.close()

  expect(lines).toHaveLength(101)
  expect(lines.at(-1)).toBe('rowstash: 3 other failures')
})
