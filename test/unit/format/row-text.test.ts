import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StoreError } from '../../../src/base/store-error.js'
import {
  convertRowText,
  differentCells,
  joinCells,
  readSpans,
  renderKey,
  renderRowObject,
  renderRowText,
  spliceRowText,
} from '../../../src/format/row-text.js'
import type { Column, ColumnType } from '../../../src/schema/column-kind.js'
import { runOptions } from '../../support/fast-check-options.js'

const ODD_IDS = ['__proto__', 'constructor', 'a', 'b', '', '0', 'a b', 'q"\\', '\n', '😀', '\ud800']

const anyId = fc.oneof(fc.constantFrom(...ODD_IDS), fc.string({ unit: 'grapheme', maxLength: 6 }))
const anyToken = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
  fc.constantFrom('34.50', '1E+2', '"\\u0041\\/"', '["]","}",[{"a":"\\\\"}]]', '{}', '[]', '0'),
)
const anyRow = fc.uniqueArray(fc.tuple(anyId, anyToken), { selector: ([id]) => id, maxLength: 8 })

function render(cells: readonly (readonly [string, string])[]): string {
  return renderRowText(
    cells.map(([id]) => id),
    cells.map(([, token]) => token),
  )
}

function readCells(text: string): [string, string][] {
  return readSpans(text).map(({ id, valueStart, end }) => [id, text.slice(valueStart, end)])
}

function columns(types: Readonly<Record<string, ColumnType>>): Map<string, Column> {
  return new Map(Object.entries(types).map(([id, type]) => [id, { id, type }]))
}

function codeOf(action: () => unknown): string {
  try {
    action()
  } catch (failure) {
    if (failure instanceof StoreError) return failure.code
    throw failure
  }
  return 'no failure'
}

describe('rendering and reading', () => {
  test('a row text is the JSON object without its braces', () => {
    expect(renderRowText(['name', 'n'], ['"Alex"', '34.50'])).toBe('"name":"Alex","n":34.50')
    expect(renderRowText([], [])).toBe('')
    expect(renderKey('a"b')).toBe('"a\\"b"')
    expect(joinCells([renderKey('a'), renderKey('b')], ['1', '2'])).toBe('"a":1,"b":2')
  })

  test('a row object carries its row ID first', () => {
    expect(renderRowObject('r1', '')).toBe('{"$rowID":"r1"}')
    expect(renderRowObject('r1', '"a":1')).toBe('{"$rowID":"r1","a":1}')
  })

  test('reading finds the cells that were rendered, and their spans cover the text', () => {
    const property = fc.property(anyRow, (cells) => {
      const text = render(cells)
      expect(readCells(text)).toEqual(cells)
      expect(Object.entries(JSON.parse(`{${text}}`)).length).toBe(cells.length)
      const spans = readSpans(text)
      expect(spans.map(({ start, end }) => text.slice(start, end)).join(',')).toBe(text)
      for (const { id, start, valueStart } of spans) {
        expect(text.slice(start, valueStart)).toBe(`${renderKey(id)}:`)
      }
    })
    fc.assert(property, runOptions(2000))
  })

  test.each([
    ['a key without quotes', 'a:1'],
    ['a missing colon', '"a"1'],
    ['a missing value', '"a":'],
    ['an empty value', '"a":,"b":1'],
    ['a comma at the end', '"a":1,'],
    ['a comma at the start', ',"a":1'],
    ['an open string', '"a":"b'],
    ['an open key', '"a'],
    ['an open array', '"a":[1'],
    ['a closing brace', '"a":1}'],
    ['a missing comma', '"a":"b""c":1'],
    ['a broken escape in a key', '"\\x":1'],
  ])('%s is damaged data', (_, text) => {
    expect(codeOf(() => readSpans(text))).toBe('DATA_CORRUPT')
  })
})

describe('splicing', () => {
  test('a changed cell keeps its place, null removes, new cells follow in order', () => {
    const changes = new Map([
      ['z', '9'],
      ['b', '"new"'],
      ['c', null],
      ['y', '[8]'],
      ['x', null],
    ])
    const text = '"a":34.50,"b":2,"c":3,"d":"\\u0041"'
    expect(spliceRowText(text, changes)).toBe('"a":34.50,"b":"new","d":"\\u0041","z":9,"y":[8]')
  })

  test('the first cell can come and the last one go', () => {
    expect(spliceRowText('', new Map([['a', '1']]))).toBe('"a":1')
    expect(spliceRowText('"a":1', new Map([['a', null]]))).toBe('')
    expect(spliceRowText('', new Map([['a', null]]))).toBe('')
  })

  test('splicing does what setting and deleting does in an ordered map, odd IDs too', () => {
    const anyChange = fc.tuple(anyId, fc.option(anyToken))
    const property = fc.property(
      anyRow,
      fc.array(anyChange, { maxLength: 6 }),
      (cells, changes) => {
        const expected = new Map(cells)
        const change = new Map(changes)
        for (const [id, token] of change) {
          if (token === null) expected.delete(id)
          else expected.set(id, token)
        }
        expect(spliceRowText(render(cells), change)).toBe(render([...expected]))
      },
    )
    fc.assert(property, runOptions(2000))
  })

  test('splicing and then parsing gives the object with the changes', () => {
    const property = fc.property(anyRow, fc.uniqueArray(anyId), (cells, ids) => {
      const changes = new Map(ids.map((id, i) => [id, i % 2 === 0 ? String(i) : null]))
      const object = new Map(Object.entries(JSON.parse(`{${render(cells)}}`)))
      for (const [id, token] of changes) {
        if (token === null) object.delete(id)
        else object.set(id, Number(token))
      }
      const spliced: unknown = JSON.parse(`{${spliceRowText(render(cells), changes)}}`)
      expect(spliced).toEqual(Object.fromEntries(object))
      expect(Object.getPrototypeOf(spliced)).toBe(Object.prototype)
    })
    fc.assert(property, runOptions(1000))
  })

  test('no changes give an equal text', () => {
    const property = fc.property(anyRow, (cells) => {
      expect(spliceRowText(render(cells), new Map())).toBe(render(cells))
    })
    fc.assert(property, runOptions(500))
  })
})

describe('converting', () => {
  test.each([
    ['a number in a column of text', '"a":34.50', { kind: 'string' }, '"a":"34.50"'],
    ['a boolean in a column of text', '"a":true', { kind: 'markdown' }, '"a":"true"'],
    ['an array in a column of text', '"a":["x",1]', { kind: 'string' }, '"a":"[\\"x\\",1]"'],
    ['an object in a column of text', '"a":{"b":1}', { kind: 'uri' }, '"a":"{\\"b\\":1}"'],
    ['a string in a column of text', '"a":"1"', { kind: 'string' }, '"a":"1"'],
    ['a number in a column of durations', '"a":1500', { kind: 'duration' }, '"a":1500'],
    ['a number in a column of numbers', '"a":1.0', { kind: 'number' }, '"a":1.0'],
    ['a boolean in a column of booleans', '"a":false', { kind: 'boolean' }, '"a":false'],
  ] as const)('%s', (_, text, type, expected) => {
    expect(convertRowText(text, columns({ a: type }))).toBe(expected)
  })

  test('elements of an array of text read back as their JSON text', () => {
    const type = { kind: 'array', items: { kind: 'string' } } as const
    const text = '"a":["x",1.0,true,[2,"y"],{"b":"]"}],"b":7'
    const expected = '"a":["x","1.0","true","[2,\\"y\\"]","{\\"b\\":\\"]\\"}"],"b":7'
    expect(convertRowText(text, columns({ a: type }))).toBe(expected)
    expect(convertRowText('"a":[]', columns({ a: type }))).toBe('"a":[]')
    expect(convertRowText('"a":12', columns({ a: type }))).toBe('"a":12')
  })

  test('elements of arrays of durations and numbers stay', () => {
    for (const kind of ['duration', 'number'] as const) {
      const text = '"a":[1,"PT1H"]'
      expect(convertRowText(text, columns({ a: { kind: 'array', items: { kind } } }))).toBe(text)
    }
  })

  test('cells of unknown columns stay, and several cells convert in one row', () => {
    const types = columns({ a: { kind: 'string' }, c: { kind: 'string' } })
    expect(convertRowText('"a":1,"b":2,"c":3,"d":4', types)).toBe('"a":"1","b":2,"c":"3","d":4')
    expect(convertRowText('"a":1', new Map())).toBe('"a":1')
    expect(convertRowText('', types)).toBe('')
  })

  test('a row in columns of text has only strings afterwards, and converting again changes nothing', () => {
    const property = fc.property(anyRow, (cells) => {
      const text = render(cells)
      const types = new Map<string, Column>(
        cells.map(([id]) => [id, { id, type: { kind: 'string' } }]),
      )
      const converted = convertRowText(text, types)
      const expected = cells.map(([id, token]) => [
        id,
        token.startsWith('"') ? token : JSON.stringify(token),
      ])
      expect(readCells(converted)).toEqual(expected)
      expect(convertRowText(converted, types)).toBe(converted)
    })
    fc.assert(property, runOptions(1000))
  })
})

describe('different cells', () => {
  test('are those of two rows with the same columns in the same order', () => {
    fc.assert(
      fc.property(anyRow, fc.infiniteStream(fc.option(anyToken)), (cells, tokens) => {
        const after = cells.map(([id, token]): [string, string] => {
          return [id, tokens.next().value ?? token]
        })
        const expected = cells.flatMap(([id, before], i) => {
          const token = after[i]?.[1] ?? ''
          return token === before ? [] : [{ id, before, after: token }]
        })
        expect(differentCells(render(cells), render(after))).toEqual(expected)
      }),
      runOptions(1000),
    )
  })

  test.each([
    ['"a":1,"b":2', '"b":2,"a":1'],
    ['"a":1,"b":2', '"a":1'],
    ['"a":1', '"a":1,"b":2'],
    ['', '"a":1'],
    ['"a":1', '"b":1'],
  ])('are not told of %s and %s', (before, after) => {
    expect(differentCells(before, after)).toBeNull()
  })
})
