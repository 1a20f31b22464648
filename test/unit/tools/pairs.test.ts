import { expect, test } from 'vitest'
import { Pairs } from '../../support/pairs.js'
import { seeded } from '../../support/seeded.js'
import { drawSwarm } from '../../support/swarm.js'

test('pairs count what runs concurrently, including the same thing twice', () => {
  const pairs = new Pairs(['add', 'read'], ['pause'])
  const begin = pairs.run()
  const endAdd = begin('add')
  begin('read')()
  begin('add')
  endAdd()
  begin('pause')

  expect(pairs.counts()).toEqual({ add: 'add 1, read 1, pause 1', read: 'read 0, pause 0' })
  expect(pairs.never()).toEqual(['read × read', 'read × pause'])
})

test('spans of one clock that touch only are no pair', () => {
  const pairs = new Pairs(['add', 'read'])
  const spans = [
    { name: 'read', from: 4, to: 8 },
    { name: 'add', from: 0, to: 5 },
    { name: 'add', from: 5, to: 6 },
  ]
  pairs.addSpans(spans)

  expect(pairs.counts()).toEqual({ add: 'add 0, read 2', read: 'read 0' })
})

test('a swarm is a third to two thirds of everything, and each thing is in some swarm', () => {
  const all = Array.from({ length: 12 }, (_, at) => at)
  const swarms = Array.from({ length: 100 }, (_, seed) => drawSwarm(seeded(seed), [...all, 0, 0]))
  const sizes = swarms.map((swarm) => new Set(swarm).size)

  expect([Math.min(...sizes), Math.max(...sizes)]).toEqual([4, 8])
  expect(new Set(swarms.flat()).size).toBe(12)
})
