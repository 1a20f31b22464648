import { expect, test } from 'vitest'
import { checkSignalOption } from '../../../src/base/options.js'
import { checkNotAborted } from '../../../src/base/signals.js'

test('an aborted call ends with an error that names the call and has the reason of the signal', () => {
  const cause = new Error('enough')
  const aborted = () => checkNotAborted('search', AbortSignal.abort(cause))

  expect(aborted).toThrow(
    expect.objectContaining({ code: 'ABORTED', message: 'The search was aborted', cause }),
  )
})

test('a call goes on without a signal, and with one that is not aborted', () => {
  expect(() => checkNotAborted('search', undefined)).not.toThrow()
  expect(() => checkNotAborted('search', new AbortController().signal)).not.toThrow()
})

test('a signal is accepted only if it can be listened to', () => {
  expect(() => checkSignalOption(new AbortController().signal)).not.toThrow()
  expect(() => checkSignalOption({ aborted: false })).toThrow(
    expect.objectContaining({
      code: 'OPTION_NOT_ALLOWED',
      message: 'Option "signal" must be an AbortSignal, not an object',
    }),
  )
})
