// The program of HOSTING.md that makes spans of events, with a tracer that only remembers them.
import assert from 'node:assert/strict'
import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as node from '../../adapters/node.js'
import { type Program, runModule } from './run-module.js'

type SeenSpan = {
  name: string
  readonly options: unknown
  readonly parent: unknown
  readonly attributes: Record<string, unknown>
  status?: unknown
  isEnded: boolean
}

/** As much of `@opentelemetry/api` as the program uses. */
function openTelemetry(spans: SeenSpan[]) {
  function startSpan(name: string, options: unknown, parent: unknown) {
    const seen: SeenSpan = { name, options, parent, attributes: {}, isEnded: false }
    spans.push(seen)
    return {
      updateName(next: string): void {
        seen.name = next
      },
      setAttribute(key: string, value: unknown): void {
        seen.attributes[key] = value
      },
      setStatus(status: unknown): void {
        seen.status = status
      },
      end(): void {
        seen.isEnded = true
      },
    }
  }
  return {
    trace: { getTracer: () => ({ startSpan }) },
    context: { active: () => 'no parent' },
    propagation: {
      extract: (active: unknown, headers: Record<string, unknown>) =>
        headers['traceparent'] ?? active,
    },
    SpanKind: { SERVER: 1 },
    SpanStatusCode: { ERROR: 2 },
  }
}

export const traced: Program = {
  document: 'src/guides/HOSTING.md',
  begins: "import { subscribe } from 'node:diagnostics_channel'",
  async run({ text }, { folder, onEnd }) {
    const spans: SeenSpan[] = []
    await runModule(
      text,
      {},
      {
        '@opentelemetry/api': openTelemetry(spans),
        'node:diagnostics_channel': {
          subscribe(name: string, listener: ChannelListener): void {
            subscribe(name, listener)
            onEnd(async () => unsubscribe(name, listener))
          },
        },
      },
    )
    const store = await node.openDirectory(join(folder, 'traced'))
    const key = 'a-long-random-text-of-the-host'
    const server = createServer(node.nodeHandler(store, { keys: [{ key, teamId: 'acme' }] }))
    await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens))
    onEnd(async () => {
      server.closeAllConnections()
      server.close()
      await store.close()
    })
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/tables`
    const headers = { authorization: `Bearer ${key}`, traceparent: '00-a-b-01' }
    const json = { ...headers, 'content-type': 'application/json' }
    const body = '{"name":"T","rows":[{"a":1}]}'
    await fetch(url, { method: 'POST', headers: json, body }).then((answer) => answer.text())
    await fetch(`${url}/secret/rows`, { headers }).then((answer) => answer.text())
    await store.maintain()

    const requests = spans.filter(({ parent }) => parent === '00-a-b-01')
    assert.deepEqual(
      requests.map(({ name, attributes }) => [name, attributes['http.response.status_code']]),
      [
        ['POST /tables', 201],
        ['GET /tables/{tableID}/rows', 404],
      ],
    )
    for (const name of ['commit', 'garbageCollection'])
      assert(
        spans.some((span) => span.name === name),
        name,
      )
    assert(spans.every(({ isEnded }) => isEnded))
    assert(!JSON.stringify(spans).includes('secret'))
  },
}
