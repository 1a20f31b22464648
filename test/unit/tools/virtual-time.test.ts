import { expect, test } from 'vitest'
import { inVirtualTime } from '../../rungs/sim/virtual-time.js'

const LONG_MS = 100
const TIMERS_MAX = 1_000

test('Timers of the simulator that follow each other for ever do not starve the event loop', async () => {
  let isTurned = false
  setImmediate(() => {
    isTurned = true
  })

  await inVirtualTime(async () => {
    for (let timers = 0; timers < TIMERS_MAX && !isTurned; timers++) {
      await new Promise<void>((done) => setTimeout(done, LONG_MS))
    }
  })

  expect(isTurned).toBe(true)
})

test('Timers of the simulator that wait for less fire first', async () => {
  const fired: number[] = []

  await inVirtualTime(async () => {
    const timers = [2 * LONG_MS, LONG_MS, LONG_MS / 2, 0].map((milliseconds) => {
      return new Promise<void>((done) => {
        setTimeout(() => {
          fired.push(milliseconds)
          done()
        }, milliseconds)
      })
    })
    await Promise.all(timers)
  })

  expect(fired).toEqual([0, LONG_MS / 2, LONG_MS, 2 * LONG_MS])
})
