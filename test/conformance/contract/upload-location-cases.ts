// CONTRACT.md, section 9: the location of an upload is signed, and works only unchanged.
import assert from 'node:assert/strict'
import { type Api, type ContractCase, expectRefusal, METHOD } from './api.js'
import { basePath, head, sendRaw } from './raw-http.js'
import {
  bytesOptions,
  complete,
  createUpload,
  INCOMPLETE,
  putBytes,
  SIGNATURE,
  textOf,
  type Upload,
} from './upload-api.js'

type Parts = Readonly<{ path: string; pairs: readonly string[] }>

function partsOf({ location }: Upload): Parts {
  const [path = '', query = ''] = location.split('?')
  return { path, pairs: query.split('&') }
}

/** Sends the PUT to a target exactly as written. */
async function putRaw(
  api: Api,
  target: string,
): Promise<Readonly<{ status: number; text: string }>> {
  const lines = head(api, `PUT ${basePath(api)}${target}`, 'Content-Type: image/png')
  const { status, body } = await sendRaw(api, [...lines, 'Content-Length: 5'], 'wrong')
  return { status, text: body }
}

/** Changed locations, which must all be refused. */
function changesOf(upload: Upload, other: Upload): readonly (readonly [what: string, string])[] {
  const { path, pairs } = partsOf(upload)
  const withQuery = (changed: readonly string[]) => `${path}?${changed.join('&')}`
  const changes: [string, string][] = [
    ['no query', path],
    ['an empty query', `${path}?`],
    ['the ID of another upload', upload.location.replace(upload.id, other.id)],
    ['a slash at its end', `${path}/?${pairs.join('&')}`],
    ['a path in it', `${path}/x?${pairs.join('&')}`],
    ['an encoded ID', upload.location.replace('rsu-', 'rsu%2D')],
    ['an encoded dot before it', upload.location.replace('/uploads/', '/uploads/%2e/')],
    ['its ID in lower case', upload.location.replace(upload.id, upload.id.toLowerCase())],
    ['its pairs in another order', withQuery([...pairs].reverse())],
    ['one more parameter', `${upload.location}&x=1`],
    ['an ampersand at its end', `${upload.location}&`],
    ['a fragment', `${upload.location}#x`],
    ['semicolons', `${path}?${pairs.join(';')}`],
  ]
  for (const [at, pair] of pairs.entries()) {
    const [name = '', value = ''] = pair.split('=')
    const instead = (text: string) => withQuery(pairs.toSpliced(at, 1, text))
    const [, ofOther = ''] = (partsOf(other).pairs[at] ?? '').split('=')
    changes.push(
      [`no ${name}`, withQuery(pairs.toSpliced(at, 1))],
      [`an empty ${name}`, instead(`${name}=`)],
      [`${name} twice`, instead(`${pair}&${pair}`)],
      [`a longer ${name}`, instead(`${pair}0`)],
      [`a shorter ${name}`, instead(pair.slice(0, -1))],
      [`a zero before ${name}`, instead(`${name}=0${value}`)],
      [
        `an encoded value of ${name}`,
        instead(`${name}=%${value.charCodeAt(0).toString(16)}${value.slice(1)}`),
      ],
      [
        `an encoded name of ${name}`,
        instead(`%${name.charCodeAt(0).toString(16)}${name.slice(1)}=${value}`),
      ],
      [`${name} in upper case`, instead(`${name.toUpperCase()}=${value}`)],
      [`a space in ${name}`, instead(`${name}=+${value}`)],
      [`an array of ${name}`, instead(`${name}[]=${value}`)],
    )
    if (ofOther !== value) changes.push([`the ${name} of another`, instead(`${name}=${ofOther}`)])
  }
  return changes
}

const changed: ContractCase[] = [
  {
    name: 'a location that was changed in any part is 403 upload_signature_invalid',
    run: async (api) => {
      const upload = await createUpload(api)
      const other = await createUpload(api, { contentType: 'image/gif' })
      for (const [what, target] of changesOf(upload, other)) {
        if (target.includes('#')) continue // No client sends a fragment.
        const reply = await putRaw(api, target)
        assert.equal(reply.status, 403, `${what}: ${target}`)
        expectRefusal(reply, SIGNATURE)
      }
      await api.refused('POST', upload.completion, {}, INCOMPLETE)
      await putBytes(api, upload, 'right')
      assert.equal(await textOf(api, await complete(api, upload)), 'right')
      await putBytes(api, other, 'x')
      await complete(api, other)
    },
  },
  {
    name: 'a location with any one bit flipped is refused',
    run: async (api) => {
      const upload = await createUpload(api)
      const start = '/uploads/'.length
      for (let at = start; at < upload.location.length; at++) {
        const code = upload.location.charCodeAt(at) ^ (1 << (at % 7))
        const char = String.fromCharCode(code)
        if (!/[!-~]/.test(char) || char === '#') continue
        const target = upload.location.slice(0, at) + char + upload.location.slice(at + 1)
        const options = { ...bytesOptions(upload, 'wrong') }
        await api.refused('PUT', target, options, SIGNATURE)
      }
      await api.refused('POST', upload.completion, {}, INCOMPLETE)
    },
  },
  {
    name: 'a location of an upload that never was is refused in the same words',
    run: async (api) => {
      const upload = await createUpload(api)
      const options = bytesOptions(upload, 'x')
      const unknown = upload.location.replace(upload.id, `rsu-${'A'.repeat(32)}`)
      const forged = `${upload.location.slice(0, -3)}AAA`
      const words = await api.refused('PUT', unknown, options, SIGNATURE)
      assert.equal(await api.refused('PUT', forged, options, SIGNATURE), words)
      assert.equal(await api.refused('PUT', '/uploads/x', options, SIGNATURE), words)
    },
  },
  {
    name: 'the location is for PUT only, and says so without a key',
    run: async (api) => {
      const upload = await createUpload(api)
      for (const method of ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']) {
        const { status, headers } = await api.send(method, upload.location, { key: null })
        assert.equal(status, METHOD.status)
        assert.equal(headers.get('allow'), 'PUT, OPTIONS')
      }
    },
  },
  {
    name: 'a page of another origin may send the bytes: preflight, and every answer, say so',
    run: async (api) => {
      const upload = await createUpload(api)
      const headers = {
        origin: 'https://page.example',
        'access-control-request-method': 'PUT',
        'access-control-request-headers': 'content-type',
      }
      const preflight = await api.send('OPTIONS', upload.location, { key: null, headers })
      assert.equal(preflight.status, 204)
      await putBytes(api, upload, 'x')
    },
  },
]

export const uploadLocationCases: readonly ContractCase[] = changed
