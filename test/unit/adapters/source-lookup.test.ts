// Goal: host names are resolved where they should be. A silent name server delays nothing else, and its query ends with
// the fetch.
import dns from 'node:dns'
import dnsPromises from 'node:dns/promises'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { nodeSources } from '../../../adapters/node.js'
import { createLookup } from '../../../adapters/sources/source-lookup.js'
import { turns } from '../../support/until.js'
import { type Names, nameServer } from './name-server.js'

const never = new AbortController().signal

async function open(
  names: Names,
  files: { hosts?: string; resolver?: string; searches?: true } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-lookup-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [hostsFile, resolverFile] = [join(folder, 'hosts'), join(folder, 'resolv.conf')]
  await writeFile(hostsFile, files.hosts ?? '')
  await writeFile(resolverFile, files.resolver ?? '')
  const { address, asked } = await nameServer(names)
  const servers = [address]
  const { searches = false } = files
  return {
    asked,
    lookup: createLookup({ searches, hostsFile, resolverFile, servers, tryMs: 60_000 }),
  }
}

test('a name is asked for as it is, and one family of addresses is enough', async () => {
  const { lookup, asked } = await open({ 'a.example': ['192.0.2.1', '192.0.2.2'] })
  expect([...(await lookup('a.example', never))].sort()).toEqual(['192.0.2.1', '192.0.2.2'])
  expect(asked).toEqual(['a.example'])
  await expect(lookup('b.example', never)).rejects.toMatchObject({ code: 'ENOTFOUND' })
})

test('the file of hosts comes first, and localhost is always known', async () => {
  const hosts =
    '# 192.0.2.9 a.example\n192.0.2.1\tB.example a.Example # a.example\r\n::1 a.example\nx a.example'
  const { lookup, asked } = await open({ 'b.example.com': ['192.0.2.2'] }, { hosts })
  expect(await lookup('a.example', never)).toEqual(['192.0.2.1', '::1'])
  expect(await lookup('localhost', never)).toEqual(['127.0.0.1', '::1'])
  expect(asked).toEqual([])
  expect(await lookup('b.example.com', never)).toEqual(['192.0.2.2'])
})

test('search domains count only where private hosts may be fetched from', async () => {
  const resolver = 'nameserver 192.0.2.1\nsearch one.test two.test\noptions timeout:1 ndots:2\n'
  const names = { 'a.two.test': ['192.0.2.1'], 'a.b.c': ['192.0.2.2'] }
  const { lookup, asked } = await open(names, { resolver, searches: true })
  expect(await lookup('a', never)).toEqual(['192.0.2.1'])
  expect(await lookup('a.b.c', never)).toEqual(['192.0.2.2'])
  expect(asked).toEqual(['a.one.test', 'a.two.test', 'a.b.c'])
  const alone = await open(names, { resolver })
  await expect(alone.lookup('a', never)).rejects.toThrow()
  expect(alone.asked).toEqual(['a'])
})

test('names with silent servers hold up no other, and end with their fetches', async () => {
  const silent = Array.from({ length: 40 }, (_, i) => `n${i}.silent.example`)
  const names = Object.fromEntries(silent.map((name) => [name, 'silent'] as const))
  const { lookup, asked } = await open({ ...names, 'a.example': ['192.0.2.1'] })
  const endings = silent.map(() => new AbortController())
  const waiting = silent.map((name, i) => {
    const looked = lookup(name, endings[i]?.signal ?? never)
    return expect(looked).rejects.toMatchObject({ code: 'ECANCELLED' })
  })
  await expect.poll(() => new Set(asked).size).toBe(silent.length)

  expect(await lookup('a.example', never)).toEqual(['192.0.2.1'])
  for (const ending of endings) ending.abort()
  await Promise.all(waiting)
  await expect(lookup('a.example', AbortSignal.abort())).rejects.toThrow()
})

test('a fetch asks no resolver that holds a thread, and ends its look-up with itself', async () => {
  const threads = [vi.spyOn(dns, 'lookup'), vi.spyOn(dnsPromises, 'lookup')]
  onTestFinished(() => threads.forEach((spy) => void spy.mockRestore()))
  const limits = { bytesMax: 1 }
  const refused = nodeSources().fetch('http://localhost/', limits)
  await expect(refused).rejects.toMatchObject({ code: 'SOURCE_URL_NOT_ALLOWED' })
  for (const spy of threads) expect(spy).not.toHaveBeenCalled()

  let seen: AbortSignal | undefined
  const lookup = (_: string, signal: AbortSignal): Promise<never> => {
    seen = signal
    return new Promise(() => {})
  }
  const ending = new AbortController()
  const fetched = nodeSources({ lookup }).fetch('http://a.example/', limits, ending.signal)
  await turns()
  expect(seen?.aborted).toBe(false)
  ending.abort()
  await expect(fetched).rejects.toMatchObject({ code: 'ABORTED' })
  expect(seen?.aborted).toBe(true)
})
