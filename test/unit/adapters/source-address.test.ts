// Goal: every address is classified correctly as public or not.
// Method: the edges of every block, and random addresses, against a second implementation that parses addresses to
// integers without node:net.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isPublicAddress } from '../../../adapters/sources/source-address.js'
import { runOptions } from '../../support/fast-check-options.js'
import { runs } from '../../support/runs.js'

/** Blocks in the registries' notation. For IPv6: everything that is not public, including unassigned space. */
const NOT_PUBLIC_V4 = `0/8 10/8 100.64/10 127/8 168.63.129.16/32 169.254/16 172.16/12 192.0.0/24 192.0.2/24 192.88.99/24
  192.168/16 198.18/15 198.51.100/24 203.0.113/24 224/4 240/4`
const NOT_PUBLIC_V6 = `0000::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 3fff::/20
  :: ::1 ::/96 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8`

type Block = Readonly<{ first: bigint; last: bigint }>

function numberOf(groups: readonly number[], bitsPerGroup: bigint): bigint {
  return groups.reduce((sum, group) => (sum << bitsPerGroup) | BigInt(group), 0n)
}

function numberOfV4(text: string): bigint {
  const groups = text.split('.').map(Number)
  return numberOf([...groups, 0, 0, 0].slice(0, 4), 8n)
}

function numberOfV6(text: string): bigint {
  const groupsOf = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const [before = '', after] = text.split('::')
  const left = groupsOf(before)
  const right = groupsOf(after ?? '')
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => 0)
  return numberOf([...left, ...zeros, ...right], 16n)
}

function blocksOf(texts: string, bits: number, parse: (text: string) => bigint): Block[] {
  return texts.split(/\s+/).map((text) => {
    const [network = '', prefix = String(bits)] = text.split('/')
    const first = parse(network)
    return { first, last: first + (1n << BigInt(bits - Number(prefix))) - 1n }
  })
}

const BLOCKS_V4 = blocksOf(NOT_PUBLIC_V4, 32, numberOfV4)
const BLOCKS_V6 = blocksOf(NOT_PUBLIC_V6, 128, numberOfV6)

function isIn(blocks: readonly Block[], address: bigint): boolean {
  return blocks.some(({ first, last }) => first <= address && address <= last)
}

function renderV4(address: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 255n).join('.')
}

/** Written with all zeros, so that it shares no shortening with the code under test. */
function renderV6(address: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => (address >> BigInt(112 - 16 * i)) & 0xffffn)
  return groups.map((group) => group.toString(16)).join(':')
}

/** Numbers near the edges of blocks, and anywhere. */
function addressNear(blocks: readonly Block[], bits: number): fc.Arbitrary<bigint> {
  const max = (1n << BigInt(bits)) - 1n
  const edges = blocks.flatMap(({ first, last }) => [first, last])
  const near = fc
    .tuple(fc.constantFrom(...edges), fc.bigInt(-300n, 300n))
    .map(([edge, distance]) => edge + distance)
    .filter((address) => address >= 0n && address <= max)
  const flipped = fc
    .tuple(fc.constantFrom(...edges), fc.integer({ min: 0, max: bits - 1 }))
    .map(([edge, bit]) => edge ^ (1n << BigInt(bit)))
  const within = fc
    .tuple(fc.constantFrom(...blocks), fc.bigInt(0n, max))
    .map(([{ first, last }, offset]) => first + (offset % (last - first + 1n)))
  return fc.oneof(near, flipped, within, fc.bigInt(0n, max))
}

function expectSameAnswers(address: string, isPublic: boolean): void {
  if (isPublicAddress(address) === isPublic) return
  throw new Error(`${address} must ${isPublic ? '' : 'not '}be public`)
}

describe('random addresses are judged as the second implementation does', () => {
  const EACH = 60_000

  test('IPv4', () => {
    fc.assert(
      fc.property(addressNear(BLOCKS_V4, 32), (address) => {
        expectSameAnswers(renderV4(address), !isIn(BLOCKS_V4, address))
      }),
      runOptions(EACH),
    )
  })

  test('IPv6', () => {
    const anywhereGlobal = fc.bigInt(1n << 125n, (1n << 126n) - 1n)
    fc.assert(
      fc.property(fc.oneof(addressNear(BLOCKS_V6, 128), anywhereGlobal), (address) => {
        expectSameAnswers(renderV6(address), !isIn(BLOCKS_V6, address))
      }),
      runOptions(EACH),
    )
  })

  test('IPv4 addresses written as mapped, compatible or NAT64 IPv6 ones are never public', () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, (1n << 32n) - 1n),
        fc.constantFrom('::ffff:', '::', '64:ff9b::', '::ffff:0:'),
        (address, prefix) => {
          expectSameAnswers(`${prefix}${renderV4(address)}`, false)
        },
      ),
      runOptions(5_000),
    )
  })
})

describe('the edges of each block', () => {
  const edgesOf = (texts: string, blocks: readonly Block[]): [string, Block][] =>
    texts
      .split(/\s+/)
      .flatMap((text, i) => blocks.slice(i, i + 1).map((block): [string, Block] => [text, block]))

  test.each(edgesOf(NOT_PUBLIC_V4, BLOCKS_V4))('%s', (_, { first, last }) => {
    expectSameAnswers(renderV4(first), false)
    expectSameAnswers(renderV4(last), false)
    for (const outside of [first - 1n, last + 1n]) {
      if (outside < 0n || outside >= 1n << 32n) continue
      expectSameAnswers(renderV4(outside), !isIn(BLOCKS_V4, outside))
    }
  })

  test.each(edgesOf(NOT_PUBLIC_V6, BLOCKS_V6))('%s', (_, { first, last }) => {
    expectSameAnswers(renderV6(first), false)
    expectSameAnswers(renderV6(last), false)
    for (const outside of [first - 1n, last + 1n]) {
      if (outside < 0n || outside >= 1n << 128n) continue
      expectSameAnswers(renderV6(outside), !isIn(BLOCKS_V6, outside))
    }
  })
})

test.each([
  ...[
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '93.184.216.34',
    '100.63.255.255',
    '100.128.0.0',
  ],
  ...[
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
  ],
  ...[
    '192.0.1.0',
    '192.0.3.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
  ],
  ...[
    '2000::',
    '2001:200::',
    '2001:4860:4860::8888',
    '2003::1',
    '2606:4700::1111',
    '2a00:1450::1',
    '3ffe:ffff::',
  ],
  ...['3fff:1000::', '2001:db7:ffff::', '2001:db9::', '2620:fe::fe'],
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true)
})

test.each([
  ...[
    '',
    ' ',
    '1',
    '1.1',
    '1.1.1',
    '1.1.1.1.1',
    '1.1.1.256',
    '01.1.1.1',
    '0x1.1.1.1',
    '1.1.1.1 ',
    ' 1.1.1.1',
    '1.1.1.1\n',
  ],
  ...[
    '[2606:4700::1]',
    '2606:4700::1%eth0',
    '2606:4700:::1',
    '2606:4700',
    'public.example',
    'localhost',
    '16843009',
  ],
  ...['2606:4700::1/64', '1.1.1.1:80', '１.1.1.1', 'null', '2606:4700::1.1.1.256'],
])('%j is no address, so it is not public', (text) => {
  expect(isPublicAddress(text)).toBe(false)
})

test('an answer takes microseconds', () => {
  const count = runs(50_000)
  const before = process.cpuUsage() // Wall-clock time would include other programs.
  for (let i = 0; i < count; i++) isPublicAddress(`2606:4700::${(i % 65_536).toString(16)}`)

  const { user, system } = process.cpuUsage(before)

  expect((user + system) / count).toBeLessThan(200)
})
