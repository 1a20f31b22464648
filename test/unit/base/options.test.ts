import { describe, expect, test } from 'vitest'
import { BoundedMap } from '../../../src/base/bounded-map.js'
import { booleanOption, choiceOption, integerOptions } from '../../../src/base/options.js'

const RANGES = {
  bytesMax: { default: 10, min: 1, max: 100 },
  countMax: { default: 2, min: 0, max: 5 },
}

function refusal(message: string): unknown {
  return expect.objectContaining({ code: 'OPTION_NOT_ALLOWED', message })
}

describe('options that are integers', () => {
  test('are as given, or have their default', () => {
    expect(integerOptions('a test', { countMax: 5 }, RANGES)).toEqual({ bytesMax: 10, countMax: 5 })
  })

  test.each([
    [{ countMax: 6 }, 'Option "countMax" must be an integer from 0 to 5, not 6'],
    [{ bytesMax: '7' }, 'Option "bytesMax" must be an integer from 1 to 100, not "7"'],
    [{ byteMax: 7 }, 'Option "byteMax" is not an option of a test; did you mean "bytesMax"?'],
    [{ CountMax: 7 }, 'Option "CountMax" is not an option of a test; did you mean "countMax"?'],
    [{ other: 7 }, 'Option "other" is not an option of a test'],
    [{ toString: 7 }, 'Option "toString" is not an option of a test'],
  ])('are refused when they are unknown or out of range: %j', (given, message) => {
    expect(() => integerOptions('a test', given as object, RANGES)).toThrow(refusal(message))
  })

  test('leave the others to the caller', () => {
    expect(integerOptions('a test', { mode: 'on' } as object, RANGES, ['mode'])).toEqual({
      bytesMax: 10,
      countMax: 2,
    })
  })
})

test('of words, the first is the default, and the refusal names all', () => {
  expect(choiceOption('mode', undefined, ['on', 'off'])).toBe('on')
  expect(choiceOption('mode', 'off', ['on', 'off'])).toBe('off')
  expect(() => choiceOption('mode', 'no', ['on', 'off'])).toThrow(
    refusal(`Option "mode" must be 'on' or 'off', not "no"`),
  )
  expect(() => choiceOption('mode', 1, ['a', 'b', 'c'])).toThrow(
    refusal(`Option "mode" must be one of 'a', 'b', 'c', not 1`),
  )
})

test('a text is refused where true or false is required', () => {
  expect(booleanOption('full', undefined, true)).toBe(true)
  expect(() => booleanOption('full', 'false', true)).toThrow(
    refusal('Option "full" must be true or false, not "false"'),
  )
})

test('a bounded map that is full drops the entry that was set first', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1)
  map.set('b', 2)
  map.set('a', 3)
  expect([map.get('a'), map.get('b')]).toEqual([3, 2])
  map.set('c', 4)
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([undefined, 2, 4])
})
