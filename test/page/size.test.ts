import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { buildPage } from '../../adapters/page/build-page.js'
import { ROOT } from '../support/project.js'

const GZIP_BYTES_MAX = 60_000

test('the whole page is small, and asks for nothing from elsewhere', async () => {
  const files = await buildPage(ROOT)
  const texts = Object.values(files)

  expect(texts.every((text) => text.length > 0)).toBe(true)
  const bytes = texts.reduce((sum, text) => sum + gzipSync(text).length, 0)
  expect(bytes).toBeLessThan(GZIP_BYTES_MAX)
  const addresses = texts.flatMap((text) => text.match(/https?:\/\/[\w.-]+/g) ?? [])
  expect([...new Set(addresses)]).toEqual(['http://www.w3.org']) // The name of SVG.
  expect(texts.join('')).not.toMatch(
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/,
  )
})
