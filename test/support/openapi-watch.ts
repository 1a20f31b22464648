// Compares every answer of every contract that a test creates with the OpenAPI document. vitest.config.ts runs this
// before each file. A test fails if its contract gives an answer that the document lacks.
import { afterEach, expect, vi } from 'vitest'
import type { Contract } from '../../src/index.js'
import type { ContractRequest, ContractResponse } from '../../src/ports.js'
import type { OpenApiProof } from './openapi-proof.js'
import { noteAnswers, takeAnswers } from './undescribed-answers.js'

/** Larger bodies pass without being kept: some tests measure memory. */
const KEPT_BYTES_MAX = 1024 * 1024

type Body = ContractResponse['body']

let loading: Promise<OpenApiProof> | undefined

afterEach(() => {
  expect(takeAnswers(), 'answers that the OpenAPI document does not have').toEqual([])
})

vi.mock(import('../../src/contract/contract.js'), async (importOriginal) => {
  const original = await importOriginal()
  return {
    ...original,
    createContract: (...given) => watchedContract(original.createContract(...given)),
  }
})

function watchedContract(contract: Contract): Contract {
  return {
    ...contract,
    async handle(request) {
      loading ??= import('./openapi-proof.js').then((module) => new module.OpenApiProof())
      const [proof, response] = await Promise.all([loading, contract.handle(request)])
      if (typeof request?.path !== 'string') return response // A call without a request is no exchange.
      const body = watchedBody(response.body, (text) => {
        noteAnswers(proof.check(exchangeOf(request, response, text)))
      })
      return { ...response, body }
    },
  }
}

function exchangeOf(request: ContractRequest, response: ContractResponse, text?: string) {
  const { method, path, query } = request
  const { status, headers } = response
  const target = query === '' ? path : `${path}?${query}`
  return { method, path: target, status, headers: new Map(Object.entries(headers)), text }
}

/** @param onEnd - Called with the whole body; undefined: it is too large, or was not read to its end. */
function watchedBody(body: Body, onEnd: (text: string | undefined) => void): Body {
  if (body === null || typeof body === 'string') {
    onEnd(body ?? '')
    return body
  }
  if (body instanceof Uint8Array) {
    onEnd(body.length > KEPT_BYTES_MAX ? undefined : Buffer.from(body).toString())
    return body
  }
  return watchedPieces(body, onEnd)
}

async function* watchedPieces(
  pieces: AsyncIterable<Uint8Array>,
  onEnd: (text: string | undefined) => void,
): AsyncGenerator<Uint8Array, void> {
  const kept: Uint8Array[] = []
  let bytes = 0
  let isWhole = false
  try {
    for await (const piece of pieces) {
      bytes += piece.length
      if (bytes <= KEPT_BYTES_MAX) kept.push(Uint8Array.from(piece))
      else kept.length = 0
      yield piece
    }
    isWhole = bytes <= KEPT_BYTES_MAX
  } finally {
    onEnd(isWhole ? Buffer.concat(kept).toString() : undefined)
  }
}
