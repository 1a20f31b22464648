import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BufferPool } from '../../src/base/buffer-pool.js'
import { createBodyBudget } from '../../src/contract/body-budget.js'
import type { HeaderList } from '../../src/contract/message.js'
import type { BodyFormat } from '../../src/contract/read-body.js'
import { readBytes, withBody } from '../../src/contract/read-body.js'

const ALL: readonly BodyFormat[] = ['json', 'csv', 'tsv']

async function* pieces(...given: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* given
}

function receive(headers: HeaderList, text = '[]', bytesMax = 100): Promise<BodyFormat> {
  const body = pieces(new TextEncoder().encode(text))
  const request = { method: 'POST', path: '/', query: '', headers, body }
  const limits = {
    bytesMax,
    buffers: new BufferPool(1_000_000),
    budget: createBodyBudget(bytesMax),
  }
  return withBody(request, ALL, limits, async ({ format }) => format)
}

const typed = (type: string): HeaderList => [['Content-Type', type]]

describe('the media type', () => {
  test.each([
    ['application/json', 'json'],
    ['Application/JSON ; Charset=UTF-8', 'json'],
    ['text/csv;charset="utf-8"', 'csv'],
    ['text/csv; header=present', 'csv'],
    ['text/tab-separated-values;charset=utf8', 'tsv'],
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
    const request = { method: 'POST', path: '/', query: '', headers, body }
    const limits = {
      bytesMax: 100,
      buffers: new BufferPool(1_000_000),
      budget: createBodyBudget(100),
    }
    await expect(withBody(request, ALL, limits, async () => 1)).rejects.toMatchObject({
      code: 'REQUEST_TOO_LARGE',
    })
    expect(isRead).toBe(false)
  })

  test('bodies up to the limit come whole, above it not at all, whatever their pieces', async () => {
    const body = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(body, async (given) => {
        const whole = Buffer.concat(given)
        const reading = readBytes(pieces(...given), 100, new Uint8Array(8))
        if (whole.length > 100) {
          await expect(reading).rejects.toMatchObject({ code: 'REQUEST_TOO_LARGE' })
        } else {
          expect(Buffer.from(await reading).equals(whole)).toBe(true)
        }
      }),
    )
  })

  test('an endless body is left at the first byte too many', async () => {
    let given = 0
    const endless = (async function* () {
      for (;;) {
        given += 10
        yield new Uint8Array(10)
      }
    })()
    await expect(readBytes(endless, 100, new Uint8Array(8))).rejects.toMatchObject({
      code: 'REQUEST_TOO_LARGE',
    })
    expect(given).toBe(110)
  })

  test('a connection that breaks within the body is named so', async () => {
    const broken = (async function* () {
      yield new Uint8Array(10)
      throw new Error('aborted')
    })()
    await expect(readBytes(broken, 100, new Uint8Array(8))).rejects.toMatchObject({
      code: 'ABORTED',
    })
  })
})

describe('the budget', () => {
  test('those who wait are served in order, and a large one is not overtaken', async () => {
    const budget = createBodyBudget(100)
    const order: string[] = []
    const take = async (name: string, bytes: number) => {
      const release = await budget.take(bytes)
      order.push(name)
      return release
    }
    const first = await take('first', 60)
    const large = take('large', 90)
    const small = take('small', 10)
    await Promise.resolve()
    expect(order).toEqual(['first'])
    first()
    ;(await large)()
    await small
    expect(order).toEqual(['first', 'large', 'small'])
  })

  test('releasing twice gives back once', async () => {
    const budget = createBodyBudget(10)
    const release = await budget.take(10)
    release()
    release()
    await budget.take(10)
    let isTaken = false
    void budget.take(1).then(() => {
      isTaken = true
    })
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(isTaken).toBe(false)
  })

  test('a body larger than the whole budget gets all of it', async () => {
    const release = await createBodyBudget(10).take(1_000)
    release()
  })

  test('too many who wait are told to try again', async () => {
    const budget = createBodyBudget(1)
    await budget.take(1)
    for (let i = 0; i < 1_000; i++) void budget.take(1)
    await expect(budget.take(1)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  })

  test('the room of a refused body is given back', async () => {
    const limits = {
      bytesMax: 10,
      buffers: new BufferPool(1_000_000),
      budget: createBodyBudget(10),
    }
    for (let i = 0; i < 5; i++) {
      const body = pieces(new Uint8Array(11))
      const request = { method: 'POST', path: '/', query: '', headers: typed('text/csv'), body }
      await expect(withBody(request, ALL, limits, async () => 1)).rejects.toThrow('limit')
    }
    await limits.budget.take(10)
  })
})
