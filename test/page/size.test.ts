import { tmpdir } from 'node:os'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { buildPage } from '../../adapters/page/build-page.js'
import { withPage } from '../../adapters/page/page.js'
import { createContract, openMemory } from '../../src/index.js'
import { ROOT } from '../support/project.js'

const GZIP_BYTES_MAX = 84_500

test('the whole page is small, and asks for nothing from elsewhere', async () => {
  const files = await buildPage(ROOT)
  const texts = Object.values(files)

  expect(texts.every((text) => text.length > 0)).toBe(true)
  const bytes = texts.reduce((sum, text) => sum + gzipSync(text).length, 0)
  expect(bytes).toBeLessThan(GZIP_BYTES_MAX)
  const addresses = texts.flatMap((text) => text.match(/https?:\/\/[\w.-]+/g) ?? [])
  expect([...new Set(addresses)]).toEqual(['http://www.w3.org']) // the namespace of SVG
  expect(texts.join('')).not.toMatch(
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/,
  )
})

test('a server builds the page once, and again after it could not be built', async () => {
  const { handle } = withPage(
    createContract(await openMemory(), {
      keys: [{ key: 'a-key-of-a-person', teamId: 'default' }],
    }),
    {},
  )
  const script = () =>
    handle({ method: 'GET', path: '/page/app.js', query: '', headers: {}, body: null } as never)
  const elsewhere = async (use: () => Promise<void>): Promise<void> => {
    process.chdir(tmpdir()) // a folder without anything to build from
    await use().finally(() => process.chdir(ROOT))
  }
  await elsewhere(() => expect(script()).rejects.toThrow('Cannot resolve entry module'))
  const { status, body } = await script()
  expect([status, typeof body]).toEqual([200, 'string'])
  await elsewhere(async () => expect((await script()).body).toBe(body))
})
