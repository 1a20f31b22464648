import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BufferPool } from '../../../src/base/buffer-pool.js'
import type { BodyLimits } from '../../../src/contract/bodies/collect-body.js'
import type { BodyFormat } from '../../../src/contract/bodies/read-body.js'
import { withBody } from '../../../src/contract/bodies/read-body.js'
import type { HeaderList } from '../../../src/contract/http/message.js'
import { MemoryBudget } from '../../../src/contract/memory/memory-budget.js'
import { collectGarbage } from '../../support/collect-garbage.js'
import { runOptions } from '../../support/fast-check-options.js'
import { until } from '../../support/until.js'

const ALL: readonly BodyFormat[] = ['json', 'csv', 'tsv']

async function* pieces(...given: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* given
}

function limitsOf(bytesMax: number, inFlightMax = bytesMax): BodyLimits & { team: string } {
  const budget = new MemoryBudget({ bytesMax: inFlightMax, holderBytesMax: bytesMax })
  return { team: 'team', bytesMax, buffers: new BufferPool(1_000_000), budget }
}

function post(headers: HeaderList, body: AsyncIterable<Uint8Array>) {
  return { method: 'POST', path: '/', query: '', headers, body }
}

function receive(headers: HeaderList, text = '[]', bytesMax = 100): Promise<BodyFormat> {
  const request = post(headers, pieces(new TextEncoder().encode(text)))
  return withBody(request, ALL, limitsOf(bytesMax), async ({ format }) => format)
}

const typed = (type: string): HeaderList => [['Content-Type', type]]

describe('the media type', () => {
  test.each([
    ['application/json', 'json'],
    ['Application/JSON ; Charset=UTF-8', 'json'],
    ['text/csv;charset="utf-8"', 'csv'],
    ['text/csv; header=present', 'csv'],
    ['text/tab-separated-values;charset=utf8', 'tsv'],
    ['application/csv; charset=US-ASCII', 'csv'],
    ['Text/TSV', 'tsv'],
    ['application/json;', 'json'],
    ['application/json ;;', 'json'],
    ['\tapplication/json\t;\tcharset = utf-8 ', 'json'],
    ['text/csv; charset=utf-8; Charset="UTF-8"', 'csv'],
  ])('%s is taken', async (type, format) => {
    expect(await receive(typed(type))).toBe(format)
  })

  test.each([
    'text/plain',
    'application/jsonx',
    'application/json, text/csv',
    'application/json charset=utf-8',
    'application/json; charset=latin1',
    'application/json; charset=utf-8; charset=latin1',
    'application/json; charset=',
    'application/json; charset=utf-8 text/html',
    'application/json; charset=utf-8; charset=utf8',
    'json',
    '',
    '/',
    'text/csv\r\nx: y',
    `application/json;${'x'.repeat(300)}`,
    'toString',
  ])('%j is refused', async (type) => {
    await expect(receive(typed(type))).rejects.toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE' })
  })

  test('of a body is missing: refused; without a body: an empty body', async () => {
    await expect(receive([])).rejects.toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE' })
    await expect(receive([], '')).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
  })

  test('given twice is refused', async () => {
    const twice = [...typed('text/csv'), ...typed('text/csv')]
    await expect(receive(twice)).rejects.toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE' })
  })

  test.each(['gzip', 'br', 'identity, gzip', 'x', ''])(
    'Content-Encoding %j is refused',
    async (coding) => {
      const headers: HeaderList = [...typed('text/csv'), ['Content-Encoding', coding]]
      await expect(receive(headers)).rejects.toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE' })
    },
  )

  test('Content-Encoding identity is taken', async () => {
    expect(await receive([...typed('text/csv'), ['content-encoding', 'Identity']])).toBe('csv')
  })
})

describe('the size', () => {
  test('a Content-Length over the limit is refused before a byte is read', async () => {
    let isRead = false
    const body = (async function* () {
      isRead = true
      yield new Uint8Array(1)
    })()
    const headers: HeaderList = [...typed('text/csv'), ['content-length', '101']]
    const reading = withBody(post(headers, body), ALL, limitsOf(100), async () => 1)
    await expect(reading).rejects.toMatchObject({
      code: 'REQUEST_TOO_LARGE',
    })
    expect(isRead).toBe(false)
  })

  const readWhole = (body: AsyncIterable<Uint8Array>, bytesMax: number, more: HeaderList = []) =>
    withBody(
      post([...typed('text/csv'), ...more], body),
      ALL,
      limitsOf(bytesMax),
      async ({ bytes }) => Buffer.from(bytes),
    )

  test('bodies up to the limit come whole, above it not at all, whatever their pieces', async () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 90_000 }), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(lengths, fc.boolean(), async (given, isAnnounced) => {
        const parts = given.map((length, at) => new Uint8Array(length).map((_, i) => i * 7 + at))
        const whole = Buffer.concat(parts)
        const announced: HeaderList = [['content-length', String(whole.length)]]
        const reading = readWhole(pieces(...parts), 300_000, isAnnounced ? announced : [])
        if (whole.length > 300_000) {
          await expect(reading).rejects.toMatchObject({ code: 'REQUEST_TOO_LARGE' })
        } else {
          expect((await reading).equals(whole)).toBe(true)
        }
      }),
      runOptions(500),
    )
  })

  test('an endless body is left at the first byte too many', async () => {
    let given = 0
    let isLeft = false
    const endless = (async function* () {
      try {
        for (;;) {
          given += 10
          yield new Uint8Array(10)
        }
      } finally {
        isLeft = true
      }
    })()
    await expect(readWhole(endless, 100)).rejects.toMatchObject({ code: 'REQUEST_TOO_LARGE' })
    expect([given, isLeft]).toEqual([110, true])
  })

  test('a connection that breaks within the body is named so', async () => {
    const broken = (async function* () {
      yield new Uint8Array(10)
      throw new Error('aborted')
    })()
    await expect(readWhole(broken, 100)).rejects.toMatchObject({ code: 'ABORTED' })
  })
})

describe('the memory of a body', () => {
  /** A body that delivers its pieces on command. */
  function heldBody() {
    const waiting: ((piece: Uint8Array | undefined) => void)[] = []
    const body = (async function* () {
      for (;;) {
        const piece = await new Promise<Uint8Array | undefined>((give) => waiting.push(give))
        if (piece === undefined) return
        yield piece
      }
    })()
    const give = async (bytes: number | undefined) => {
      await until(() => waiting.length === 1)
      waiting.shift()?.(bytes === undefined ? undefined : new Uint8Array(bytes).fill(0x20))
      if (bytes !== undefined) await until(() => waiting.length === 1)
    }
    return { body, give }
  }

  const ANNOUNCED: HeaderList = [...typed('text/csv'), ['content-length', '1000000']]

  test('is none as long as no byte has come, however much was announced', async () => {
    const limits = limitsOf(1_000_000)
    const stalled = Array.from({ length: 20 }, () => heldBody().body)
    for (const body of stalled) void withBody(post(ANNOUNCED, body), ALL, limits, async () => 1)

    const done = await withBody(
      post(typed('text/csv'), pieces(new Uint8Array(1_000_000))),
      ALL,
      limits,
      async () => 'done',
    )

    expect(done).toBe('done')
  })

  test('is charged as the bytes come: at most four times as much, or 64 KiB, and never more than announced', async () => {
    const limits = limitsOf(1_000_000, 3_000_000)
    const { body, give } = heldBody()
    const reading = withBody(post(ANNOUNCED, body), ALL, limits, async () => 1)
    const charged: number[] = []
    const probe = limits.budget.open('team', () => {})
    /** Half of the common part is for the team. */
    const held = () => {
      let least = 0
      for (let most = 1_000_000; least < most; ) {
        const middle = Math.ceil((least + most) / 2)
        if (probe.tryResize(middle)) least = middle
        else most = middle - 1
      }
      probe.tryResize(0)
      return 1_000_000 - least
    }
    for (const bytes of [1, 9_999, 90_000, 400_000, 500_000]) {
      await give(bytes)
      charged.push(held())
    }
    await give(undefined)
    await reading

    expect(charged).toEqual([4_096, 65_536, 262_144, 1_000_000, 1_000_000])
    expect(held()).toBe(0)
  })

  test('of a piece is free once the piece was copied, however long the rest takes', async () => {
    const given: WeakRef<Uint8Array>[] = []
    async function* body(): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < 20; i++) {
        const piece = new Uint8Array(1_000)
        given.push(new WeakRef(piece))
        yield piece
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      collectGarbage()
    }
    await withBody(post(typed('text/csv'), body()), ALL, limitsOf(100_000), async () => 1)

    const kept = given.filter((piece) => piece.deref() !== undefined)
    expect(kept.length).toBeLessThan(5) // The last ones may still be on their way.
  })

  test('is given back when the body is refused', async () => {
    const limits = limitsOf(10)
    for (let i = 0; i < 5; i++) {
      const request = post(typed('text/csv'), pieces(new Uint8Array(11)))
      await expect(withBody(request, ALL, limits, async () => 1)).rejects.toThrow('limit')
    }
    await limits.budget.open('team', () => {}).resize(10)
  })
})
