// Goal: commands that use a server report when something else answers: another program on the port of a server that has
// ended, or a proxy.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { ProgramFailure } from '../../../adapters/cli/command/program-failure.js'
import { runStats } from '../../../adapters/cli/commands/stats.js'
import {
  backupServed,
  servedKeys,
  verifyServed,
} from '../../../adapters/cli/stores/admin-client.js'

async function listening(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const { signal } = new AbortController()

const ASKS: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  verify: (url) => verifyServed(at(url), { full: false, signal, onFinding: () => undefined }),
  keys: (url) => servedKeys(at(url), signal).list(),
  backup: (url) => text(backupServed(at(url), 'include', signal)),
  stats: (url) => {
    const io = { print: () => undefined, warn: () => undefined, env: {}, signal }
    return runStats(['--url', url, '--key', 'key'], io)
  },
}

function at(url: string) {
  return { url, adminKey: 'an-admin-key-for-the-tests' }
}

const PAGE = '<!doctype html>\n<title>Welcome</title>\n'
const ENOUGH = 'x'.repeat(1024 * 1024)

test.each(Object.entries(ASKS))('%s of a page is a failure in words', async (_, ask) => {
  const url = await listening((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE)
  })

  const failure = await ask(url).catch((reason: unknown) => reason)

  expect(failure).toBeInstanceOf(ProgramFailure)
  expect(failure).toMatchObject({ message: expect.stringContaining(`The server at ${url} `) })
})

test.each(['verify', 'keys', 'stats'])('%s of a text is a failure in words', async (name) => {
  const url = await listening((_request, response) => void response.end('{"data":[\n'))

  await expect(ASKS[name]?.(url)).rejects.toThrow(`The server at ${url} `)
})

test.each(Object.entries(ASKS))('%s ends at an answer that is cut', async (_, ask) => {
  const url = await listening((_request, response) => {
    response.writeHead(200, { 'content-length': 1_000 }).write('rowstash', () => {
      response.destroy()
    })
  })

  await expect(ask(url)).rejects.toBeInstanceOf(ProgramFailure)
})

test.each(Object.entries(ASKS))('%s ends at an error without an end', async (_, ask) => {
  const url = await listening((_request, response) => {
    response.writeHead(500).write(ENOUGH)
  })

  await expect(ask(url)).rejects.toBeInstanceOf(ProgramFailure)
})
