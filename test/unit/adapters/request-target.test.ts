import { expect, test } from 'vitest'
import { hostsOf, parseRequestTarget } from '../../../adapters/http/request-target.js'

const HOSTS = hostsOf(['https://api.example.com/v2', undefined])

test.each([
  ['/tables?a=b', 'any', '/tables?a=b'],
  ['http://db.example/tables?a=b', 'db.example', '/tables?a=b'],
  ['HTTP://DB.example/Tables', 'db.EXAMPLE', '/Tables'],
  ['http://db.example:8080/tables', 'db.example:8080', '/tables'],
  ['http://db.example:80/tables', 'db.example', '/tables'],
  ['http://db.example/tables', 'db.example:80', '/tables'],
  ['https://db.example:443/tables', 'db.example', '/tables'],
  ['https://api.example.com/v2/tables', 'other.example', '/v2/tables'],
  ['https://api.example.com:443/v2/tables', 'other.example', '/v2/tables'],
  ['http://[::1]:80/', '[::1]', '/'],
  ['http://db.example', 'db.example', '/'],
  ['http://db.example?a', 'db.example', '/?a'],
])('%s, sent to %s, means %s', (url, host, target) => {
  expect(parseRequestTarget({ url, headers: { host } }, HOSTS)).toBe(target)
})

test.each([
  ['http://other.example/tables', 'db.example'],
  ['http://db.example:81/tables', 'db.example'],
  ['http://db.example:443/tables', 'db.example'],
  ['https://db.example/tables', 'db.example:80'],
  ['http://db.example@other.example/tables', 'db.example'],
  ['http://user@db.example/tables', 'db.example'],
  ['http:///tables', ''],
  ['http://:80/tables', ''],
  ['ftp://db.example/tables', 'db.example'],
  ['db.example:443', 'db.example'],
  ['*', 'db.example'],
  ['', 'db.example'],
])('%s, sent to %s, is no target of ours', (url, host) => {
  expect(parseRequestTarget({ url, headers: { host } }, HOSTS)).toBeUndefined()
})
