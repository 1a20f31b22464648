// The part of `node:assert/strict` that the suites use, for a browser.

function fail(message: string): never {
  throw new Error(message)
}

function shown(value: unknown): string {
  return JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `${inner}n` : inner))
}

function same(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true
  if (typeof left !== 'object' || typeof right !== 'object' || !left || !right) return false
  const [names, others] = [Object.keys(left), Object.keys(right)]
  if (names.length !== others.length) return false
  const [a, b] = [left as Record<string, unknown>, right as Record<string, unknown>]
  return names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]))
}

function isExpected(failure: unknown, check: ((failure: unknown) => unknown) | Error): boolean {
  if (typeof check === 'function') return check(failure) === true
  return failure instanceof Error && failure.message === check.message
}

const assert = {
  ok(value: unknown, message = 'the value is falsy'): void {
    if (!value) fail(message)
  },
  equal(left: unknown, right: unknown, message = ''): void {
    if (!Object.is(left, right)) fail(`${shown(left)} is not ${shown(right)} ${message}`)
  },
  deepEqual(left: unknown, right: unknown, message = ''): void {
    if (!same(left, right)) fail(`${shown(left)} is not ${shown(right)} ${message}`)
  },
  async rejects(
    work: Promise<unknown> | (() => Promise<unknown>),
    check?: ((failure: unknown) => unknown) | Error,
  ): Promise<void> {
    try {
      await (typeof work === 'function' ? work() : work)
    } catch (failure) {
      if (check === undefined || isExpected(failure, check)) return
      fail(`It fails otherwise: ${failure}`)
    }
    fail('It does not fail')
  },
}

export { assert as default }
