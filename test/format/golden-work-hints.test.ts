// Golden records of work hints, and of the teams that have some.
import { describe, expect, test } from 'vitest'
import { type Bytes, toHex, utf8 } from '../../src/base/bytes.js'
import * as hints from '../../src/format/work-records.js'
import { golden, goldenBytes } from './golden-file.js'

const TABLE = utf8('table-key-16byte')
const EXTENT = { table: TABLE, extent: 2 ** 40 + 3 }
const DUE = 1_760_000_000_000
const NOW: hints.Hint = { due: 0, kind: 'extent', about: hints.aboutExtent(EXTENT) }
const LATER: hints.Hint = { due: DUE, kind: 'stash', about: utf8('orders-2024') }

const KINDS: readonly hints.HintKind[] = ['table', 'upload', 'job', 'results']

const GOLDEN: Readonly<Record<string, () => Bytes>> = {
  'work-hint': () => hints.encodeHint(2 ** 33 + 7),
  'last-scan': () => hints.encodeLastScan(DUE),
  'due-team': () => hints.encodeDueTeam(utf8('nonce--1')),
  'key-work-hint-extent': () => hints.hintKey('compaction', NOW),
  'key-work-hint-stash': () => hints.hintKey('garbageCollection', LATER),
  ...Object.fromEntries(
    KINDS.map((kind) => [
      `key-work-hint-${kind}`,
      () =>
        hints.hintKey('garbageCollection', {
          due: 1,
          kind,
          about: kind === 'results' ? utf8('') : TABLE,
        }),
    ]),
  ),
  'key-work-hint-recompression': () =>
    hints.hintKey('recompression', { due: DUE, kind: 'table', about: TABLE }),
  'key-last-scan': () => hints.lastScanKey('files'),
  'key-due-team': () => hints.dueTeamKey('compaction', DUE, 'team-é'),
  'key-due-objects': () => hints.dueTeamKey('objects', 0, ''),
}

describe('hints of work', () => {
  test.each(Object.entries(GOLDEN))('%s is written as FORMAT.md says', (name, write) => {
    const written = write()

    expect(toHex(written)).toBe(golden(name, written))
  })

  test('are read back to the values that were written', () => {
    expect(hints.decodeHint(goldenBytes('work-hint'))).toBe(2 ** 33 + 7)
    expect(hints.decodeLastScan(goldenBytes('last-scan'))).toBe(DUE)
    expect(hints.decodeDueTeam(goldenBytes('due-team'))).toEqual(utf8('nonce--1'))
    expect(hints.decodeHintKey(goldenBytes('key-work-hint-extent'))).toEqual(NOW)
    expect(hints.decodeHintKey(goldenBytes('key-work-hint-stash'))).toEqual(LATER)
    expect(hints.decodeHintKey(goldenBytes('key-last-scan'))).toBe(null)
    expect(hints.extentOfHint(NOW.about)).toEqual(EXTENT)
    expect(hints.teamOfDueKey(goldenBytes('key-due-team'))).toBe('team-é')
    expect(hints.dutyAndDueOf(goldenBytes('key-due-team'))).toEqual({
      duty: 'compaction',
      due: DUE,
    })
    expect(hints.dutyAndDueOf(goldenBytes('key-work-hint-stash'))).toEqual({
      duty: 'garbageCollection',
      due: DUE,
    })
  })

  test('of a kind or a duty of a later version are known as such', () => {
    const key = goldenBytes('key-work-hint-stash')
    expect(hints.decodeHintKey(key.with(8, 0x77))).toMatchObject({ due: DUE, kind: null })
    expect(hints.dutyAndDueOf(key.with(1, 0x77))).toBe(null)
  })

  test('are refused with another version, and cut anywhere', () => {
    const refused = expect.objectContaining({ code: 'DATA_CORRUPT' })
    for (const [name, decode] of [
      ['work-hint', hints.decodeHint],
      ['last-scan', hints.decodeLastScan],
      ['due-team', hints.decodeDueTeam],
    ] as const) {
      const bytes = goldenBytes(name)
      expect(() => decode(bytes.with(0, 2))).toThrow(refused)
      expect(() => decode(Uint8Array.of(...bytes, 0))).toThrow(refused)
      for (let length = 0; length < bytes.length; length++) {
        expect(() => decode(bytes.slice(0, length))).toThrow(refused)
      }
    }
    const key = goldenBytes('key-work-hint-extent')
    for (let length = 3; length < 9; length++) {
      expect(() => hints.decodeHintKey(key.slice(0, length))).toThrow(refused)
    }
    expect(() => hints.extentOfHint(NOW.about.slice(1))).toThrow(refused)
  })
})

describe('the ranges of hints', () => {
  const isIn = (key: Bytes, { start, limit }: { start: Bytes; limit: Bytes }): boolean =>
    toHex(key) >= toHex(start) && toHex(key) < toHex(limit)

  test('that are due at a time have the last scan first, and no hint of later or of another duty', () => {
    const at = (due: number): Bytes => hints.hintKey('garbageCollection', { ...LATER, due })
    const range = hints.dueHintsRange('garbageCollection', DUE)
    expect(toHex(range.start)).toBe(toHex(hints.lastScanKey('garbageCollection')))
    expect([0, DUE - 1, DUE, DUE + 1].map((due) => isIn(at(due), range))).toEqual([
      true,
      true,
      true,
      false,
    ])
    expect(isIn(hints.hintKey('compaction', NOW), range)).toBe(false)
  })

  test('of a duty have all of them, but not the last scan', () => {
    const range = hints.hintsRange('compaction')
    expect(isIn(hints.hintKey('compaction', NOW), range)).toBe(true)
    expect(isIn(hints.hintKey('compaction', { ...NOW, due: 2 ** 48 - 1 }), range)).toBe(true)
    expect(isIn(hints.lastScanKey('compaction'), range)).toBe(false)
    expect(isIn(hints.hintKey('garbageCollection', LATER), range)).toBe(false)
  })

  test('of teams have those that are due at a time', () => {
    const range = hints.dueTeamsRange('compaction', DUE)
    expect(isIn(hints.dueTeamKey('compaction', DUE, 'z'), range)).toBe(true)
    expect(isIn(hints.dueTeamKey('compaction', 0, ''), range)).toBe(true)
    expect(isIn(hints.dueTeamKey('compaction', DUE + 1, 'a'), range)).toBe(false)
  })
})
