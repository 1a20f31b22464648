import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { resolveRequestOrigin } from '../../../adapters/http/mounted-request.js'

function originFor(host: string | undefined, more: object = {}): string | undefined {
  const request = { headers: { host }, socket: {}, url: '/tables', ...more }
  return resolveRequestOrigin(request as unknown as IncomingMessage, '/api')
}

test('the URL of a request has its host, the mount and the base path', () => {
  expect(originFor('rows.example:80')).toBe('http://rows.example:80/api')
  expect(originFor('rows.example', { originalUrl: '/v1/tables' })).toBe(
    'http://rows.example/v1/api',
  )
})

test.each(['evil/../x', 'evil/x', 'evil/', '/'])(
  'Host: %s names more than a host, so there is no URL',
  (host) => {
    expect(originFor(host)).toBeUndefined()
  },
)
