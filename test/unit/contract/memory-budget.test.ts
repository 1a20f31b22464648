// Goal: the rules at the head of src/contract/memory/memory-budget.ts hold, whatever clients do. Time is virtual.
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { MemoryBudget, type Room } from '../../../src/contract/memory/memory-budget.js'
import { runOptions } from '../../support/fast-check-options.js'

const MIB = 1 << 20

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** A budget of the default sizes: 48 MiB in common, of which one team may have 24, and a reserve of 16. */
function defaultBudget(): MemoryBudget {
  return new MemoryBudget({ bytesMax: 64 * MIB, holderBytesMax: 16 * MIB })
}

type Held = Room & { state: () => 'held' | 'waiting' | 'refused' | 'lost' }

/** A reservation for a number of bytes, by a client whose body is arriving. */
function hold(budget: MemoryBudget, team: string, bytes: number): Held {
  let state: ReturnType<Held['state']> = 'held'
  const room = budget.open(team, () => {
    state = 'lost'
  })
  room.setMoving(true)
  const grow = (wanted: number): Promise<void> | undefined => {
    const granted = room.resize(wanted)
    if (granted === undefined) return undefined
    state = 'waiting'
    const watched = granted.then(
      () => {
        state = 'held'
      },
      () => {
        state = 'refused'
        room.close()
      },
    )
    return watched
  }
  void grow(bytes)
  return { ...room, resize: grow, state: () => state }
}

const settled = () => vi.advanceTimersByTimeAsync(0)
const states = (rooms: readonly Held[]) => rooms.map(({ state }) => state())

describe('one team', () => {
  test('cannot stop another, however much it holds', async () => {
    const budget = defaultBudget()
    const greedy = Array.from({ length: 1_000 }, () => hold(budget, 'greedy', 100_000))
    await settled()
    expect(greedy.filter(({ state }) => state() === 'waiting').length).toBeGreaterThan(500)

    const others = Array.from({ length: 24 }, () => hold(budget, 'other', MIB))
    await settled()

    expect(new Set(states(others))).toEqual(new Set(['held']))
  })

  test('goes on body after body, each to its full size', async () => {
    const budget = defaultBudget()
    const bodies = Array.from({ length: 10 }, () => hold(budget, 'team', 4 * MIB))
    for (const body of bodies) void body.resize(16 * MIB)
    let done = 0
    for (let turn = 0; turn < 10; turn++) {
      await settled()
      const next = bodies.find(({ state }) => state() === 'held')
      if (next === undefined) break
      bodies.splice(bodies.indexOf(next), 1)
      next.close()
      done++
    }

    expect(done).toBe(10)
  })
})

describe('whoever waits', () => {
  test('is first in line if its team holds least, then if its body is small, then by its time', async () => {
    const budget = new MemoryBudget({ bytesMax: 16 * MIB, holderBytesMax: 16 * MIB }) // only a reserve
    const first = hold(budget, 'a', MIB)
    const order: string[] = []
    const inOrder = async (name: string, team: string, bytes: number) => {
      const room = budget.open(team, () => {})
      await room.resize(bytes)
      order.push(name)
      room.close()
    }
    const waiting = [
      inOrder('large of a', 'a', 2 * MIB),
      inOrder('small of a', 'a', 1_000),
      inOrder('another large of a', 'a', MIB),
      inOrder('large of b', 'b', 8 * MIB),
    ]
    await settled()
    // While `a` has the reserve, `b` holds least. After that nobody holds anything.
    first.close()
    await Promise.all(waiting)

    expect(order).toEqual(['small of a', 'large of a', 'another large of a', 'large of b'])
  })

  test('goes on as soon as it fits, also behind somebody who does not', async () => {
    const budget = defaultBudget()
    const rooms = [16, 8, 16].map((size) => hold(budget, 'a', size * MIB)) // The last one has the reserve.
    const large = hold(budget, 'a', 16 * MIB)
    const small = hold(budget, 'a', 4 * MIB)
    await settled()
    expect(states([...rooms, large, small])).toEqual(['held', 'held', 'held', 'waiting', 'waiting'])

    rooms[1]?.close()
    await settled()

    expect(states([large, small])).toEqual(['waiting', 'held'])
  })

  test('is refused after 30 s, unchanged, and what it held is free', async () => {
    const budget = new MemoryBudget({ bytesMax: 2 * MIB, holderBytesMax: MIB }, 'tests (anOption)')
    const rooms = [0.25, 0.25, 0.5].map((size) => hold(budget, 'a', size * MIB))
    for (const room of rooms) room.setMoving(false) // The store works on them.
    void rooms[0]?.resize(MIB) // It has the reserve now.
    const waiting = budget.open('a', () => {})
    const refused = expect(waiting.resize(0.75 * MIB)).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      outcome: 'unchanged',
      message: 'There is not enough memory for tests (anOption): none became free within 30 s',
    })
    await vi.advanceTimersByTimeAsync(29_000)
    expect(vi.getTimerCount()).toBe(1)

    await vi.advanceTimersByTimeAsync(2_000)

    await refused
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is refused at once when a thousand wait', async () => {
    const budget = new MemoryBudget({ bytesMax: MIB, holderBytesMax: MIB })
    const rooms = Array.from({ length: 1_001 }, () => hold(budget, 'a', MIB))
    await settled()
    expect(rooms.filter(({ state }) => state() === 'waiting')).toHaveLength(1_000)

    const late = budget.open('a', () => {})

    await expect(late.resize(1)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  })
})

describe('a slow client', () => {
  /** Two teams that hold the whole common part, and a third that has the reserve. */
  function fullBudget(): { budget: MemoryBudget; common: Held[]; reserve: Held } {
    const budget = defaultBudget()
    const sizes = [16, 8]
    const common = ['a', 'b'].flatMap((team) => sizes.map((size) => hold(budget, team, size * MIB)))
    return { budget, common, reserve: hold(budget, 'c', 16 * MIB) }
  }

  test('keeps what it holds as long as nobody waits', async () => {
    const { common, reserve } = fullBudget()
    await vi.advanceTimersByTimeAsync(3_600_000)

    expect(new Set(states([...common, reserve]))).toEqual(new Set(['held']))
  })

  test('loses the reserve when somebody has waited for two seconds', async () => {
    const { budget, common, reserve } = fullBudget()
    const waiting = hold(budget, 'd', MIB)
    await vi.advanceTimersByTimeAsync(1_900)
    expect(states([reserve, waiting])).toEqual(['held', 'waiting'])

    await vi.advanceTimersByTimeAsync(700)

    expect(states([reserve, waiting])).toEqual(['lost', 'held'])
    expect(new Set(states(common))).toEqual(new Set(['held']))
    await expect(reserve.resize(1)).resolves.toBeUndefined()
    expect(reserve.state()).toBe('refused')
  })

  test('loses what it holds in common when the reserve is in good use', async () => {
    const { budget, common, reserve } = fullBudget()
    reserve.setMoving(false)
    const waiting = hold(budget, 'd', MIB)
    await vi.advanceTimersByTimeAsync(2_600)

    expect(waiting.state()).toBe('held')
    expect(states(common).filter((state) => state === 'lost')).toHaveLength(1)
  })

  test('is not made to go for a team that holds more than its own', async () => {
    const budget = defaultBudget()
    const modest = hold(budget, 'modest', MIB)
    const greedy = [16, 8, 16].map((size) => hold(budget, 'greedy', size * MIB))
    for (const room of greedy) room.setMoving(false)
    const more = hold(budget, 'greedy', MIB)
    await vi.advanceTimersByTimeAsync(29_000)

    expect(states([modest, more])).toEqual(['held', 'waiting'])
  })

  test('is one that moves less than a megabyte a second', async () => {
    const { budget, common, reserve } = fullBudget()
    for (const room of common) room.setMoving(false)
    const waiting = hold(budget, 'd', 16 * MIB)
    for (const quick of [true, true, false, false]) {
      for (let turn = 0; turn < 20; turn++) {
        reserve.moved(quick ? 105_000 : 95_000)
        await vi.advanceTimersByTimeAsync(100)
      }
      if (quick) expect(reserve.state()).toBe('held')
    }
    await vi.advanceTimersByTimeAsync(600)

    expect(states([reserve, waiting])).toEqual(['lost', 'held'])
  })

  test('is nobody who waits for memory', async () => {
    const { budget, common, reserve } = fullBudget()
    for (const room of common) room.setMoving(false)
    reserve.setMoving(false)
    const holding = hold(budget, 'd', 0)
    void holding.resize(MIB)
    await vi.advanceTimersByTimeAsync(29_000)

    expect(holding.state()).toBe('waiting')
  })
})

describe('whatever clients do', () => {
  type Step = Readonly<{ client: number; grow: number; isSlow: boolean }>
  const steps = fc.array(
    fc.record<Step>({
      client: fc.nat(11),
      grow: fc.integer({ min: 1, max: 1_000 }),
      isSlow: fc.boolean(),
    }),
    { maxLength: 60 },
  )

  test('the budget is kept, and everybody comes to an end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1_000, max: 4_000 }), steps, async (bytesMax, given) => {
        const budget = new MemoryBudget({ bytesMax, holderBytesMax: 1_000 })
        const sizes = new Map<number, number>()
        const rooms = Array.from({ length: 12 }, (_, n) => hold(budget, `team ${n % 3}`, 0))
        const bytesHeld = () => {
          let bytes = 0
          for (const [n, size] of sizes) {
            if (['held', 'waiting'].includes(rooms[n]?.state() ?? '')) bytes += size
          }
          return bytes
        }
        for (const { client, grow, isSlow } of given) {
          const room = rooms[client]
          if (room?.state() !== 'held') continue
          room.setMoving(isSlow)
          const wanted = Math.min(1_000, (sizes.get(client) ?? 0) + grow)
          const granted = room.resize(wanted) ?? Promise.resolve()
          void granted.then(() => room.state() === 'held' && sizes.set(client, wanted))
          await vi.advanceTimersByTimeAsync(100)
          expect(bytesHeld()).toBeLessThanOrEqual(bytesMax)
        }
        for (const { client } of given) {
          const room = rooms[client]
          if (room?.state() === 'held') room.close()
          sizes.delete(client)
          await settled()
        }
        await vi.advanceTimersByTimeAsync(31_000)
        expect(states(rooms)).not.toContain('waiting')
        expect(vi.getTimerCount()).toBe(0)
      }),
      runOptions(100),
    )
  })
})
