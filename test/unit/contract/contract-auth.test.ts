import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { toHex, utf8 } from '../../../src/base/bytes.js'
import { sha256 } from '../../../src/base/platform.js'
import type { Identity } from '../../../src/contract/auth/caller.js'
import { createAuthenticate, maskKey } from '../../../src/contract/calls/auth.js'
import type { ContractOptions } from '../../../src/contract/calls/contract-options.js'
import { resolveContractOptions } from '../../../src/contract/calls/contract-options.js'
import { anyCodePoint } from '../../support/code-points.js'
import { runOptions } from '../../support/fast-check-options.js'

const NO_STORED_KEYS = { find: async () => null }

const bearer = (key: string): [string, string][] => [['Authorization', `Bearer ${key}`]]

test.each([
  ['', '****'],
  ['a', '****'],
  ['abcdef', '****'],
  ['abcdefg', 'ab****fg'],
  ['INxxxxxxID', 'IN****ID'],
])('the mask of %s is %s', (key, mask) => {
  expect(maskKey(key)).toBe(mask)
})

test('a mask shows four characters of a key at most', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCodePoint }), (key) => {
      const shown = maskKey(key).replace('****', '')
      expect(shown.length).toBeLessThanOrEqual(4)
      expect(shown.length).toBeLessThan(Math.max(key.length, 1))
    }),
    runOptions(500),
  )
})

describe('a list of keys', () => {
  const authenticate = createAuthenticate(
    resolveContractOptions({
      keys: [
        { key: 'first-key', teamId: 'one' },
        { key: 'second-key', teamId: 'two' },
        { key: '__proto__', teamId: 'three' },
      ],
    }),
    NO_STORED_KEYS,
  )

  test('each key gives its team', async () => {
    expect(await authenticate(bearer('first-key'))).toMatchObject({ teamId: 'one' })
    expect(await authenticate(bearer('second-key'))).toMatchObject({ teamId: 'two' })
    expect(await authenticate(bearer('__proto__'))).toMatchObject({ teamId: 'three' })
  })

  test('the scheme has any letter case and any number of spaces', async () => {
    expect(await authenticate([['AUTHORIZATION', 'bEaReR   first-key ']])).toMatchObject({
      teamId: 'one',
    })
  })

  test.each([
    ['no header', [], 'has no Authorization header'],
    ['two headers', [...bearer('first-key'), ...bearer('first-key')], 'more than one'],
    [
      'two headers in different letter case',
      [...bearer('first-key'), ['authorization', 'x']],
      'more than one',
    ],
    ['another scheme', [['authorization', 'Basic first-key']], 'not of the form "Bearer KEY"'],
    ['no token', [['authorization', 'Bearer ']], 'not of the form "Bearer KEY"'],
    ['no space', [['authorization', 'Bearerfirst-key']], 'not of the form "Bearer KEY"'],
  ] as [string, [string, string][], string][])(
    '%s: refused with an empty mask and the reason',
    async (_, headers, problem) => {
      const failure: { code: string; message: string } = await authenticate(headers).then(
        () => expect.unreachable(),
        (reason) => reason,
      )
      expect(failure.code).toBe('REQUEST_ERROR')
      expect(failure.message).toMatch(/^API key not found, or duplicate \*{4}: the /)
      expect(failure.message).toContain(problem)
      expect(failure.message).toMatch(/; send Authorization: Bearer KEY$/)
      expect(failure.message).not.toContain('first-key')
    },
  )

  test('any other token is refused, its message masked', async () => {
    await fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[\x21-\x7e]{1,40}$/), async (key) => {
        fc.pre(!['first-key', 'second-key', '__proto__'].includes(key))
        await expect(authenticate(bearer(key))).rejects.toMatchObject({
          code: 'REQUEST_ERROR',
          message: `API key not found, or duplicate ${maskKey(key)}`,
        })
      }),
      runOptions(500),
    )
  })
})

describe('authenticate of the host', () => {
  const through = (authenticate: NonNullable<ContractOptions['authenticate']>) =>
    createAuthenticate(resolveContractOptions({ authenticate }), NO_STORED_KEYS)

  test('it is asked on every request, so that a revoked key stops working', async () => {
    let isRevoked = false
    const ask = through(async () => (isRevoked ? undefined : { teamId: 'one' }))
    expect(await ask(bearer('some-key'))).toMatchObject({ teamId: 'one' })
    isRevoked = true
    await expect(ask(bearer('some-key'))).rejects.toMatchObject({ code: 'REQUEST_ERROR' })
  })

  test('it is not asked about no key', async () => {
    const ask = through(async () => ({ teamId: 'one' }))
    await expect(ask([])).rejects.toMatchObject({ code: 'REQUEST_ERROR' })
  })

  test('an invalid team ID is a fault of the host, not of the client', async () => {
    for (const teamId of ['', 'x'.repeat(129), '\ud800']) {
      await expect(through(async () => ({ teamId }))(bearer('k'))).rejects.toThrow('Invariant')
    }
  })

  test('it gets the request, whose repeated headers are joined', async () => {
    const host = { session: 'of the framework' }
    const asked: unknown[] = []
    const ask = through(async (...given) => {
      asked.push(given)
      return { teamId: 'one' }
    })
    const headers: [string, string][] = [...bearer('k'), ['X-A', '1'], ['x-a', '2']]
    await ask(headers, { method: 'PUT', path: '/tables/t', host })

    const request = { method: 'PUT', path: '/tables/t', host }
    expect(asked).toEqual([
      ['k', { ...request, headers: { authorization: 'Bearer k', 'x-a': '1, 2' } }],
    ])
  })

  test('it is asked without a token if it says so, but not about two', async () => {
    const found = vi.fn(async () => null)
    const options: ContractOptions = {
      authenticate: async (_, { headers }) =>
        headers['cookie'] === 'session=1' ? { teamId: 'one', keyId: 'ann' } : undefined,
      tokenRequired: false,
      storedKeys: true,
    }
    const ask = createAuthenticate(resolveContractOptions(options), { find: found })
    const cookie: [string, string][] = [['cookie', 'session=1']]

    expect(await ask(cookie)).toMatchObject({ teamId: 'one', keyId: 'ann' })
    expect(await ask([...cookie, ['authorization', 'Basic x']])).toMatchObject({ keyId: 'ann' })
    const refused = {
      code: 'REQUEST_ERROR',
      message: expect.stringMatching(/duplicate \*{4}: the/),
    }
    await expect(ask([])).rejects.toMatchObject(refused)
    await expect(ask([...cookie, ...bearer('a'), ...bearer('b')])).rejects.toMatchObject(refused)
    expect(found).not.toHaveBeenCalled()
  })

  test('null stands for an unknown key too', async () => {
    await expect(through(async () => null)(bearer('k'))).rejects.toMatchObject({
      code: 'REQUEST_ERROR',
    })
  })

  test('the rights of a key are checked, so that none is silently ignored', async () => {
    const table = '00000000-0000-4000-8000-000000000000'
    const rights = { keyId: 'k1', scopes: ['read'] as const, tables: [table] }
    expect(await through(async () => ({ teamId: 'one', ...rights }))(bearer('k'))).toEqual({
      teamId: 'one',
      keyId: 'k1',
      author: 'k1',
      scopes: new Set(['read']),
      tables: new Set([table]),
    })
    for (const wrong of [
      { scopes: ['all'] },
      { scopes: 'read' },
      { scopes: null },
      { scopes: ['read', 'read', 'read', 'read'] },
      { tables: ['x'] },
      { tables: [table.toUpperCase().replace('0', 'A')] },
      { tables: Array.from({ length: 1_001 }, () => table) },
      { keyId: '' },
      { author: '' },
      { keyId: 7 },
    ]) {
      const scoped = async () => ({ teamId: 'one', ...wrong }) as Identity
      await expect(through(scoped)(bearer('k'))).rejects.toThrow('Invariant')
    }
  })

  test('a key without a name gets one that is always the same, and reveals nothing', async () => {
    const nameOf = async (key: string) =>
      (await through(async () => ({ teamId: 'one' }))(bearer(key))).keyId
    const listed = createAuthenticate(
      resolveContractOptions({ keys: [{ key: 'some-key', teamId: 'one' }] }),
      NO_STORED_KEYS,
    )
    expect(await nameOf('some-key')).toMatch(/^[0-9a-f]{32}$/)
    expect(await nameOf('some-key')).toBe((await listed(bearer('some-key'))).keyId)
    expect(await nameOf('other-key')).not.toBe(await nameOf('some-key'))
    expect(toHex(await sha256(utf8('some-key')))).not.toContain(await nameOf('some-key'))
  })
})

describe('options', () => {
  const keys = [{ key: 'a-key-that-is-long-enough', teamId: 'team' }]

  test.each([
    ['neither keys nor authenticate', {}],
    ['both', { keys, authenticate: async () => undefined }],
    ['an unknown option', { keys, key: 'x' }],
    [
      'the same key twice',
      {
        keys: [
          { key: 'a', teamId: 'b' },
          { key: 'a', teamId: 'c' },
        ],
      },
    ],
    ['a key with a space', { keys: [{ key: 'a b', teamId: 'c' }] }],
    ['an empty key', { keys: [{ key: '', teamId: 'c' }] }],
    ['a team ID of nothing', { keys: [{ key: 'a', teamId: '' }] }],
    ['an authenticate that is no function', { authenticate: 'x' }],
    ['no token required, and nobody to ask', { keys, tokenRequired: false }],
    ['a tokenRequired that is a text', { keys, tokenRequired: 'no' }],
    ['an onFailure that is no function', { keys, onFailure: 'x' }],
    ['an onWarning that is no function', { keys, onWarning: 'x' }],
    ['apps that are one text', { keys, apps: 'app' }],
    ['an app that is a number', { keys, apps: [1] }],
    ['no options at all', undefined],
    ['options that are null', null],
  ])('%s: refused', (_, options) => {
    expect(() => resolveContractOptions(options as ContractOptions)).toThrow(
      expect.objectContaining({ code: 'OPTION_NOT_ALLOWED' }),
    )
  })

  const missing = 'is its environment variable set?'

  test.each([
    ['a missing key', [{ key: undefined, teamId: 't' }], ['keys[0].key', 'not undefined', missing]],
    ['no key at all', [{ teamId: 't' }], ['keys[0].key', 'not undefined', missing]],
    ['null', [keys[0], { key: null, teamId: 't' }], ['keys[1].key', 'not null', missing]],
    ['an empty key', [{ key: '', teamId: 't' }], ['keys[0].key', 'not empty', missing]],
    [
      'the text null',
      [{ key: 'null', teamId: 't' }],
      ['keys[0].key', 'the string "null"', missing],
    ],
    [
      'the text undefined',
      [{ key: 'undefined', teamId: 't' }],
      ['keys[0].key', 'the string "undefined"', missing],
    ],
    ['a number', [{ key: 12, teamId: 't' }], ['keys[0].key', 'not a number']],
    ['an array', [{ key: ['a'], teamId: 't' }], ['keys[0].key', 'not an array']],
    ['a key with a line end', [{ key: 'a\n', teamId: 't' }], ['keys[0].key', 'visible ASCII']],
    ['a team that is missing', [{ key: 'a', team: 't' }], ['keys[0]', 'not "team"']],
    ['an unknown scope', [{ ...keys[0], scopes: ['all'] }], ['keys[0].scopes', 'read, write']],
    ['one scope for all', [{ ...keys[0], scopes: 'read' }], ['keys[0].scopes', 'not a string']],
    ['no table ID', [{ ...keys[0], tables: ['x'] }], ['keys[0].tables', 'table IDs']],
    ['an empty name', [{ ...keys[0], keyId: '' }], ['keys[0].keyId', '1 to 256 characters']],
    ['a text', ['a-key'], ['keys[0]', 'not a string']],
    ['null for a key', [null], ['keys[0]', 'not null']],
    ['an object', {}, ['"keys"', 'a list of { key, teamId }', 'not an object']],
    ['null for all', null, ['"keys"', 'a list of { key, teamId }', 'not null']],
    ['an empty list', [], ['"keys"', 'at least one key']],
  ])('keys: %s is refused at start, with what to do', (_, given, phrases) => {
    let message = ''
    try {
      resolveContractOptions({ keys: given } as unknown as ContractOptions)
    } catch (failure) {
      expect(failure).toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
      message = (failure as Error).message
    }

    for (const phrase of phrases) expect(message).toContain(phrase)
  })

  test('keys of fewer than 16 characters are warned of once, by their places', () => {
    const warnings: string[] = []
    const onWarning = (warning: string) => void warnings.push(warning)
    const given = ['fifteen-chars-0', 'sixteen-chars-00', 'short'].map((key) => ({
      key,
      teamId: 't',
    }))
    resolveContractOptions({ keys: given, onWarning })

    expect(warnings).toEqual([
      'API keys of fewer than 16 characters can be guessed; use long random ones (short: keys[0], keys[2])',
    ])

    resolveContractOptions({ keys, onWarning })
    expect(warnings).toHaveLength(1)
  })

  test('a refused key is not in the message', () => {
    const keys = [{ key: 'secret with spaces', teamId: 'a' }]
    expect(() => resolveContractOptions({ keys })).not.toThrow('secret')
  })
})

test('the digest of a key is the same with and without node:crypto', async () => {
  const digest = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad' // FIPS 180-2, B.1.
  expect(toHex(await sha256(utf8('abc')))).toBe(digest)

  const builtIn = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
  try {
    expect(toHex(await sha256(utf8('abc')))).toBe(digest)
    expect(builtIn).toHaveBeenCalled()
  } finally {
    builtIn.mockRestore()
  }
})
