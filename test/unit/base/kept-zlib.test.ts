// The reused zstd decoder and encoder give the results of the public calls. After any irregularity the public calls are
// used.
import zlib from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isSync } from '../../../src/base/awaitable.js'
import { type Bytes, concatBytes, sameBytes, utf8 } from '../../../src/base/bytes.js'
import { type Codec, openCodecs } from '../../../src/base/codecs.js'
import { KeptZlib } from '../../../src/base/kept-zlib.js'
import { zstdContentBytes } from '../../../src/base/zstd-frame.js'
import { runOptions } from '../../support/fast-check-options.js'

type Convert = (piece: Bytes) => Bytes

type Decoder = { _handle: unknown; _processChunk: (piece: Bytes, flush: number) => Bytes }

/** Node 22.15 and later have this; the types of Node 20 lack it. */
type ZstdZlib = Readonly<{
  createZstdCompress(options: object): Decoder
  createZstdDecompress(options: object): Decoder
  zstdCompressSync(bytes: Bytes, options?: object): Bytes
  zstdDecompressSync(bytes: Bytes, options: object): unknown
}>

const zstdZlib = zlib as unknown as ZstdZlib
const HAS_ZSTD = 'createZstdDecompress' in zlib

/** The codec, with counts of its public calls and of the decoders that it opens. */
function counted(change: (decoder: Decoder) => void = () => undefined): {
  zstd: Codec
  count: { publicly: number; opened: number }
} {
  const count = { publicly: 0, opened: 0 }
  const { zstd } = openCodecs({
    ...zlib,
    zstdDecompressSync: (bytes: Bytes, options: object) => {
      count.publicly++
      return zstdZlib.zstdDecompressSync(bytes, options)
    },
    createZstdDecompress: (options: object) => {
      count.opened++
      const decoder = zstdZlib.createZstdDecompress(options)
      change(decoder)
      return decoder
    },
  })
  if (zstd === null) throw new Error('this runtime has zstd')
  return { zstd, count }
}

const rowsLike = (bytes: number, seed: number): Bytes =>
  utf8(`"name":"Alex","n":${seed},`.repeat(Math.ceil(bytes / 18))).subarray(0, bytes)

const pack = (raw: Bytes, options?: object): Bytes =>
  new Uint8Array(zstdZlib.zstdCompressSync(raw, options))

const RAW = rowsLike(24_000, 1)

describe.skipIf(!HAS_ZSTD)('a kept decoder', () => {
  test('decompresses frames of every size in turn, with one decoder and no public call', () => {
    const { zstd, count } = counted()
    for (let turn = 0; turn < 300; turn++) {
      const raw = rowsLike(1 + ((turn * 7_919) % 524_288), turn)

      expect(sameBytes(zstd.decompress(pack(raw), raw.length) as Bytes, raw)).toBe(true)
    }
    expect(count).toEqual({ publicly: 0, opened: 1 })
  })

  test('puts the bytes into memory that is given, and only if they fit', () => {
    const { zstd } = counted()
    const memory = new Uint8Array(RAW.length + 5).fill(7)
    const given = zstd.decompress(pack(RAW), RAW.length, memory) as Bytes
    const small = zstd.decompress(pack(RAW), RAW.length, memory.subarray(0, -6)) as Bytes

    expect([given.buffer === memory.buffer, given.byteOffset]).toEqual([true, 0])
    expect([...memory.subarray(RAW.length)]).toEqual([7, 7, 7, 7, 7])
    expect(small.buffer === memory.buffer).toBe(false)
    expect([sameBytes(given, RAW), sameBytes(small, RAW)]).toEqual([true, true])
  })

  test('with any byte changed gives what the public call gives, and the next frame whole', () => {
    const stored = pack(RAW)
    const other = rowsLike(9_000, 2)
    const { zstd } = counted()
    const publicly = openCodecs({ ...zlib, createZstdDecompress: undefined }).zstd
    if (publicly === null) throw new Error('this runtime has zstd')
    const outcome = (codec: Codec, bytes: Bytes): Bytes | 'refused' => {
      try {
        return codec.decompress(bytes, RAW.length) as Bytes
      } catch {
        return 'refused'
      }
    }
    const place = fc.nat({ max: stored.length - 1 })
    const damage = fc.array(fc.tuple(place, fc.nat({ max: 255 })), { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(damage, fc.nat({ max: 30 }), (changes, cut) => {
        const damaged = stored.slice(0, stored.length - cut)
        for (const [at, value] of changes) if (at < damaged.length) damaged[at] = value

        expect(outcome(zstd, damaged)).toEqual(outcome(publicly, damaged))
        expect(sameBytes(zstd.decompress(pack(other), other.length) as Bytes, other)).toBe(true)
      }),
      runOptions(400),
    )
  })

  test('a frame that is damaged costs its decoder, and no other frame', () => {
    const { zstd, count } = counted()
    const stored = pack(RAW, { params: { 201: 1 } }) // ZSTD_c_checksumFlag.
    const damaged = Uint8Array.from(stored)
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1
    for (let turn = 1; turn <= 20; turn++) {
      expect(() => zstd.decompress(damaged, RAW.length)).toThrow()
      expect(sameBytes(zstd.decompress(stored, RAW.length) as Bytes, RAW)).toBe(true)
      expect(count).toEqual({ publicly: turn, opened: turn + 1 })
    }
  })

  test('a frame that claims another size goes to the public call, and opens nothing', () => {
    const { zstd, count } = counted()
    expect(() => zstd.decompress(pack(RAW), RAW.length + 1)).toThrow('it decompresses to')
    expect(() => zstd.decompress(pack(RAW), RAW.length - 1)).toThrow()
    expect(count).toEqual({ publicly: 2, opened: 0 })
  })

  test.each<readonly [string, (decoder: Decoder) => void]>([
    ['a runtime without the call', (decoder) => Object.assign(decoder, { _processChunk: null })],
    ['a runtime without the handle', (decoder) => Object.assign(decoder, { _handle: undefined })],
    [
      'a call that fails',
      (decoder) =>
        Object.assign(decoder, {
          _processChunk: () => {
            throw new TypeError('not here')
          },
        }),
    ],
    [
      'a call that gives other bytes',
      (decoder) => Object.assign(decoder, { _processChunk: () => new Uint8Array(3) }),
    ],
    [
      'a call that gives nothing',
      (decoder) => Object.assign(decoder, { _processChunk: () => undefined }),
    ],
  ])('%s is found out by the first frame, and not asked again', (_, change) => {
    const { zstd, count } = counted(change)
    for (let turn = 1; turn <= 5; turn++) {
      expect(sameBytes(zstd.decompress(pack(RAW), RAW.length) as Bytes, RAW)).toBe(true)
      expect(count).toEqual({ publicly: turn, opened: 1 })
    }
  })

  test.each<readonly [string, (decoder: Decoder, convert: Convert, piece: Bytes) => Bytes]>([
    ['takes a part', (_, convert, piece) => convert(piece.subarray(0, -4))],
    ['gives a part', (_, convert, piece) => convert(piece).subarray(0, -1)],
    [
      'destroys its stream',
      (decoder, convert, piece) => {
        const raw = convert(piece)
        Object.defineProperty(decoder, 'destroyed', { value: true })
        return raw
      },
    ],
  ])('a call that %s gives nothing', (_, call) => {
    const stored = pack(RAW, { params: { 201: 1 } }) // ZSTD_c_checksumFlag: all bytes are there without the last four.
    const kept = new KeptZlib(() => {
      const decoder = zstdZlib.createZstdDecompress({ chunkSize: 600_000 })
      const whole = decoder._processChunk.bind(decoder)
      return Object.assign(decoder, {
        _processChunk: (piece: Bytes) => call(decoder, (part) => whole(part, 0), piece),
      })
    }, 0)

    expect(kept.run(stored, (out) => out.length === RAW.length)).toBeUndefined()
  })

  test('listens for the error of a call that failed, which comes later', () => {
    let stream: NodeJS.EventEmitter | undefined
    const kept = new KeptZlib(() => {
      const decoder = zstdZlib.createZstdDecompress({})
      stream = decoder as unknown as NodeJS.EventEmitter
      return Object.assign(decoder, {
        _processChunk: () => {
          throw new Error('it failed')
        },
      })
    }, 0)

    expect(kept.run(pack(RAW), (out) => out.length === RAW.length)).toBeUndefined()
    expect(stream?.emit('error', new Error('it failed'))).toBe(true)
  })

  test('leaves no listener behind for each frame', () => {
    let stream: NodeJS.EventEmitter | undefined
    const { zstd } = counted((decoder) => {
      stream = decoder as unknown as NodeJS.EventEmitter
    })
    for (let turn = 0; turn < 50; turn++) {
      expect(isSync(zstd.decompress(pack(RAW), RAW.length))).toBe(true)
    }
    expect(stream?.listenerCount('error')).toBe(0)
  })

  test.each([0, 1, 255, 256, 65_791, 65_792, 500_000])(
    'a frame of %i bytes states this length',
    (size) => {
      expect(zstdContentBytes(pack(rowsLike(size, 5)))).toBe(size)
    },
  )
})

/** The codec, with a count of the encoders that it opens. */
function countedEncoders(change: (encoder: Decoder) => void = () => undefined): {
  zstd: Codec
  opened: () => number
} {
  let opened = 0
  const { zstd } = openCodecs({
    ...zlib,
    createZstdCompress: (options: object) => {
      const encoder = zstdZlib.createZstdCompress(options)
      opened++
      change(encoder)
      return encoder
    },
  })
  if (zstd === null) throw new Error('this runtime has zstd')
  return { zstd, opened: () => opened }
}

const unpack = (stored: Bytes | null): Bytes =>
  new Uint8Array(zstdZlib.zstdDecompressSync(stored ?? new Uint8Array(0), {}) as Bytes)

describe.skipIf(!HAS_ZSTD)('a kept encoder', () => {
  test('makes small frames of every size in turn, each in memory of its own', async () => {
    const { zstd, opened } = countedEncoders()
    const made: [raw: Bytes, stored: Bytes | null][] = []
    for (let turn = 0; turn < 300; turn++) {
      const noise = crypto.getRandomValues(new Uint8Array((turn * 541) % 9_000))
      const raw = concatBytes([rowsLike(1 + ((turn * 7_919) % 15_000), turn), noise])
      made.push([raw, await zstd.compress(raw, 40_000)])
    }
    for (const [raw, stored] of made) expect(sameBytes(unpack(stored), raw)).toBe(true)
    expect(opened()).toBe(1)
  })

  test('leaves what is large, and what is thorough, to other threads', async () => {
    const { zstd, opened } = countedEncoders()
    await zstd.compress(rowsLike(24 * 1024, 1), 40_000)
    expect(opened()).toBe(1)
    await zstd.compress(rowsLike(24 * 1024 + 1, 1), 40_000)
    expect(opened()).toBe(2)
    await zstd.compress(RAW, 40_000, 'thorough')
    expect(opened()).toBe(3)
  })

  test.each<readonly [string, (convert: Convert, piece: Bytes) => Bytes | undefined]>([
    ['makes less of it', (convert, piece) => convert(piece.subarray(1))],
    ['makes two frames of it', (convert, piece) => concatBytes([convert(piece), convert(piece)])],
    [
      'makes a frame of something else',
      (convert, piece) => {
        convert(piece)
        return pack(rowsLike(RAW.length + 1, 3))
      },
    ],
    ['gives a part', (convert, piece) => convert(piece).subarray(0, -1)],
    ['gives it as it is', (_, piece) => piece],
    ['gives nothing', () => undefined],
    [
      'fails',
      () => {
        throw new TypeError('not here')
      },
    ],
  ])('that %s is found out by the first frame, and not asked again', async (_, call) => {
    let calls = 0
    const { zstd } = countedEncoders((encoder) => {
      const whole = encoder._processChunk.bind(encoder)
      const copy = (piece: Bytes) => whole(piece, 2).slice()
      const _processChunk = (piece: Bytes) => {
        calls++
        return call(copy, piece)
      }
      Object.assign(encoder, { _processChunk })
    })
    for (let turn = 0; turn < 5; turn++) {
      expect(sameBytes(unpack(await zstd.compress(RAW, RAW.length)), RAW)).toBe(true)
    }
    expect(calls).toBe(1)
  })
})

test.skipIf(HAS_ZSTD)('a kept decoder is not there in a runtime without zstd', () => {
  expect(openCodecs(zlib).zstd).toBeNull()
})
