// Values that fit and do not fit each kind (CONTRACT.md, section 3). JSON values are tokens.

export type KindValues = Readonly<{
  kind: string
  /** JSON tokens that fit and are returned unchanged. */
  fits: readonly string[]
  /** JSON tokens that do not fit. */
  misfits: readonly string[]
  /** CSV fields that fit, each with the JSON token that is returned. */
  textFits: readonly (readonly [field: string, token: string])[]
  /** CSV fields that do not fit. */
  textMisfits: readonly string[]
}>

/** The tokens of JSON strings. */
function quoted(texts: readonly string[]): readonly string[] {
  return texts.map((text) => JSON.stringify(text))
}

const NOT_STRINGS = ['12', 'true', 'false', '[]', '["a"]', '{}', '{"a":1}']

/** A kind with the same rule for CSV and JSON. */
function textKind(kind: string, fits: readonly string[], misfits: readonly string[]): KindValues {
  return {
    kind,
    fits: quoted(fits),
    misfits: [...quoted(misfits), ...NOT_STRINGS],
    textFits: fits.map((text) => [text, JSON.stringify(text)]),
    textMisfits: misfits,
  }
}

const URIS = [
  'https://example.com/a?b=c#d',
  'mailto:a@example.com',
  'tel:+1-555-0100',
  'data:text/plain,hello',
  'HTTPS://EXAMPLE.COM',
  'urn:isbn:0451450523',
  'custom-scheme://x/y',
  'https://例え.jp/パス',
]

const NOT_URIS = [
  'example.com',
  '/relative/path',
  'x',
  ' https://example.com',
  'https://example.com ',
  'https://example.com/a b',
  'https://example.com/\n',
  'https://example.com/\u0000',
  'https://example.com/\u007f',
  'https://example.com/<a>',
  'https://example.com/"',
  'C:\\x\\y',
  'https://example.com/^',
  'https://example.com/{a}',
  'https://example.com/a|b',
  'https://example.com/`',
  'https://example.com/\u00a0',
]

const ANY_TEXTS = [
  'a',
  '  spaces  ',
  'line\nbreak',
  'tab\there',
  'quote"comma,',
  '007',
  'true',
  '{"a":1}',
  'ä😀',
  '\u0001',
  '__proto__',
]

/** A kind that accepts any well-formed text, such as string and markdown. */
function anyText(kind: string): KindValues {
  return {
    kind,
    fits: quoted(['', ...ANY_TEXTS]),
    misfits: [...NOT_STRINGS, '"\\ud800"', '"a\\udc00b"'],
    textFits: ANY_TEXTS.map((text) => [text, JSON.stringify(text)]),
    textMisfits: [],
  }
}

const DATES = ['2024-02-29', '1999-12-31', '2000-02-29', '2024-01-01']
const NOT_DATES = [
  '2023-02-29',
  '2024-02-30',
  '1900-02-29',
  '2023-01-015',
  '2024-2-3',
  '2024-13-01',
  '2024-00-10',
  '2024-01-00',
  '24-01-01',
  '2024/01/01',
  '01.02.2024',
  'today',
  '2024-01-01Z',
  ' 2024-01-01',
]

export const KIND_VALUES: readonly KindValues[] = [
  anyText('string'),
  anyText('markdown'),
  textKind('uri', URIS, NOT_URIS),
  textKind('imageURI', URIS, NOT_URIS),
  textKind('audioURI', URIS, NOT_URIS),
  textKind(
    'emailAddress',
    [
      'a@example.com',
      'first.last+tag@sub.example.co.uk',
      "o'neil@example.com",
      'user@bücher.example',
      `${'x'.repeat(64)}@example.com`,
    ],
    [
      'a',
      'a@',
      '@example.com',
      'a@b@example.com',
      '.a@example.com',
      'a.@example.com',
      'a..b@example.com',
      'a b@example.com',
      'a@b..com',
      ' a@example.com',
      'a@example.com ',
      `${'x'.repeat(65)}@example.com`,
      'a@-example.com',
      'a@example.com\n',
    ],
  ),
  textKind(
    'phoneNumber',
    [
      '112',
      '+1 (213) 373-4253',
      '213.373.4253',
      '+44 20 7946 0958',
      '03/1234567',
      '12345678901234567890',
      '555-0100 x12',
      '555-0100 ext 12',
      '555-0100#12',
    ],
    [
      '12',
      '123456789012345678901',
      'call me',
      '555-CALL',
      '123,456',
      '+',
      '()',
      '123_456',
      '555 0100 y12',
    ],
  ),
  textKind(
    'emoji',
    ['😀', '❤️', '👨‍👩‍👧‍👦', '🇩🇪', '👍🏽', '😀😀', '❤'],
    ['a', '1', '#', '😀a', 'a😀', 'smile', ':)', '12'],
  ),
  textKind('date', DATES, [...NOT_DATES, '2024-01-01T00:00', '2024-01-01T00:00:00Z']),
  textKind(
    'time',
    ['00:00', '23:59:59', '12:30:15.5', '12:30Z', '12:30:00+02:00', '23:59:59.999999-23:59'],
    [
      '24:00',
      '12:60',
      '23:59:60',
      '1:30',
      '12',
      '12:3',
      '12:30+24:00',
      '12:30:15.',
      ' 12:30',
      '12:30 ',
      'noon',
      '12.30',
      '-12:30',
    ],
  ),
  textKind(
    'dateTime',
    [
      '2024-02-29T12:30',
      '2024-02-29T12:30:15',
      '2024-02-29 12:30:15.25',
      '2024-02-29T12:30:15Z',
      '2024-02-29T12:30:15.123+02:00',
      ...DATES,
    ],
    [
      ...NOT_DATES,
      '2023-02-29T12:30',
      '2024-01-01T24:00',
      '2024-01-01T',
      '12:30',
      '2024-01-01T12:30:60',
      '2024-01-01T12:30+24:00',
      '2024-01-01  12:30',
      '2024-01-01T12',
    ],
  ),
  {
    kind: 'duration',
    fits: [
      ...quoted([
        'PT1H30M',
        'P1D',
        'P1Y2M3DT4H5M6S',
        'P1W',
        'PT0.5S',
        '1:30:00',
        '-1:30:00.5',
        '100:00:00',
      ]),
      '1500',
      '-3.5',
      '0',
      '1e3',
    ],
    misfits: [
      ...quoted(['P', 'PT', '1h', '90 minutes', '1:60:00', '1:30', '1:30:60', '1500', ' PT1S']),
      'true',
      '[]',
      '{}',
      '1e400',
    ],
    textFits: [
      ['PT1H30M', '"PT1H30M"'],
      ['-1:30:00.5', '"-1:30:00.5"'],
    ],
    textMisfits: ['P', '1h', '1:30', 'true', '1e400'],
  },
  {
    kind: 'number',
    fits: [
      '0',
      '-1',
      '34.50',
      '1e3',
      '1E-5',
      '12345678901234567890',
      '0.1',
      '9007199254740993',
      '1.10',
    ],
    misfits: ['"12"', '"x"', 'true', '[]', '{}', '1e400', '-1e400'],
    textFits: [
      ['0', '0'],
      ['-1', '-1'],
      ['34.50', '34.50'],
      ['1e3', '1e3'],
      ['12345678901234567890', '12345678901234567890'],
    ],
    textMisfits: [
      '0x10',
      '1,5',
      '007',
      '+1',
      '.5',
      '5.',
      'NaN',
      'Infinity',
      '1e400',
      'abc',
      '1 2',
      'true',
      '--1',
      '1e',
    ],
  },
  {
    kind: 'boolean',
    fits: ['true', 'false'],
    misfits: ['"true"', '0', '1', '"x"', '[]', '{}'],
    textFits: [
      ['true', 'true'],
      ['FALSE', 'false'],
      ['True', 'true'],
    ],
    textMisfits: ['yes', 'no', '1', '0', 't', ' true', 'truee'],
  },
]

/** Arrays: the kind of their elements, and tokens that fit and do not fit. */
export const ARRAY_VALUES: readonly (readonly [
  items: string,
  fits: readonly string[],
  misfits: readonly string[],
])[] = [
  [
    'number',
    ['[]', '[1]', '[1.50,2,-3]'],
    ['[null]', '["a"]', '[1,"2"]', '[[1]]', '[{}]', '"x"', '5', '{}', '[1e400]', 'true'],
  ],
  [
    'string',
    ['[]', '["a",""]', '["\\n"]'],
    ['[null]', '[1]', '["a",true]', '[["a"]]', '"a"', '["\\ud800"]'],
  ],
  ['boolean', ['[true,false]'], ['["true"]', '[0]', '[null]', 'true']],
  ['date', ['["2024-02-29"]'], ['["2023-02-29"]', '["x"]', '"2024-02-29"', '[""]']],
  ['uri', ['["https://example.com"]'], ['["x"]', '[1]', '"https://example.com"']],
  ['duration', ['["PT1S",5]'], ['["x"]', '[true]']],
]
