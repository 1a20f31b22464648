// A shop whose page uploads a picture: its server holds the key and does the first and third step, the browser the
// second.
import type { IncomingMessage, ServerResponse } from 'node:http'

const UPLOAD_PAGE = `<!doctype html>
<title>Shop</title>
<input type="file">
<script type="module">
  const input = document.querySelector('input')

  async function ask(path, body) {
    const response = await fetch(path, { method: 'POST', body: JSON.stringify(body) })
    return response.json()
  }

  input.addEventListener('change', async () => {
    const [file] = input.files
    const about = { fileName: file.name, contentType: file.type, contentLength: file.size }
    const { data: { uploadID, uploadLocation } } = await ask('/upload', about)
    const send = (contentType) =>
      fetch(uploadLocation, { method: 'PUT', headers: { 'content-type': contentType }, body: file })
    const refused = await (await send('image/gif')).json()
    const sent = await send(file.type)
    const { data: { url } } = await ask('/complete', { uploadID })
    const image = new Image()
    image.src = url
    await image.decode().catch(() => {}) // Its width tells.
    document.body.append(image)
    const read = await fetch(url)
    window.outcome = {
      refused: refused.error.type,
      sent: sent.status,
      url,
      width: image.naturalWidth,
      type: read.headers.get('content-type'),
      etag: read.headers.get('etag'),
      bytes: (await read.arrayBuffer()).byteLength,
    }
  })
</script>`

/** The final state of the upload page. */
export type UploadOutcome = Readonly<{
  refused: string
  sent: number
  url: string
  width: number
  type: string | null
  etag: string | null
  bytes: number
}>

/** A page without a doctype: it applies the loosest rules for style sheets. */
const PLAIN_PAGE = '<title>Shop</title><body>'

type Api = Readonly<{ api: string; key: string }>

export function shopPage(api: Api): (request: IncomingMessage, response: ServerResponse) => void {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '' } = request
    if (url === '/plain') return sendPage(response, PLAIN_PAGE)
    // A page isolated from other origins shows only resources that permit every origin.
    const isolated = { 'cross-origin-embedder-policy': 'require-corp' }
    if (url === '/') return sendPage(response, UPLOAD_PAGE, isolated)
    const about = JSON.parse(await textOf(request)) as { uploadID?: string }
    const path = url === '/upload' ? '' : `/${about.uploadID}/complete`
    const answered = await fetch(`${api.api}/apps/shop/uploads${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
      ...(url === '/upload' ? { body: JSON.stringify(about) } : {}),
    })
    response.writeHead(answered.status).end(await answered.text())
  }
  return (request, response) => {
    answer(request, response).catch((failure: unknown) => {
      response.writeHead(500).end(JSON.stringify({ error: String(failure) }))
    })
  }
}

function sendPage(
  response: ServerResponse,
  page: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(page)
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of request) pieces.push(piece as Uint8Array)
  return Buffer.concat(pieces).toString('utf8')
}
