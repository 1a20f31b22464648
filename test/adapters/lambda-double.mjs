// Plays AWS: calls the handler of lambda.mjs with events of an HTTP API of API Gateway, version 2.0, and sends its
// results.
import { createServer } from 'node:http'
import process from 'node:process'
import { buffer } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

const { handler } = await import(pathToFileURL(process.argv[2] ?? '').href)

async function answer(request, response) {
  const { method, headers, url: target = '/' } = request
  const { pathname, searchParams } = new URL(target, 'http://lambda.example')
  const body = await buffer(request)
  const event = {
    version: '2.0',
    routeKey: '$default',
    rawPath: pathname,
    rawQueryString: searchParams.toString(),
    headers: { ...headers, 'x-forwarded-proto': 'https' },
    requestContext: { domainName: 'lambda.example', http: { method, path: pathname } },
    ...(body.length > 0 && { body: body.toString('base64') }),
    isBase64Encoded: body.length > 0,
  }
  const given = await handler(event, {})
  response.writeHead(given.statusCode, given.headers)
  response.end(Buffer.from(given.body ?? '', given.isBase64Encoded ? 'base64' : 'utf8'))
}

createServer((request, response) => {
  answer(request, response).catch((failure) => {
    console.error(failure)
    response.writeHead(500).end()
  })
}).listen(Number(process.env.PORT), '127.0.0.1')
