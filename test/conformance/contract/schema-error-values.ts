// CONTRACT.md, section 3, `onSchemaError`: values that do not fit the column `c`, and their results.
// schema-error-new-columns.ts has the values of a column that the table lacks.

/** A value as it is sent, and the stored JSON tokens; null: an empty cell. */
export type Sent = readonly [sent: string, dropped: string | null, updated: string | null]

export type Situation = Readonly<{
  rule: string
  /** null: the table lacks the column. */
  type: unknown
  /** An existing cell: the stored token, and its token after `updateSchema`. */
  old?: readonly [stored: string, after: string]
  /** Whether the column keeps its type under `updateSchema`. */
  stays?: true
  json: readonly Sent[]
  csv: readonly Sent[]
  /** Values that the column accepts and refuses after `updateSchema`. */
  takes: readonly string[]
  refuses: readonly string[]
}>

export const STRING = { takes: ['"y"', '""'], refuses: ['5', 'true'] }
export const DATE_TIME = { takes: ['"2024-02-29 11:00Z"', '"2024-02-29"'], refuses: ['"x"', '5'] }
export const STRINGS = { takes: ['["z"]', '[]'], refuses: ['[5]', '"z"'] }

function arrayOf(kind: string): object {
  return { kind: 'array', items: { kind } }
}

const numbers: readonly Situation[] = [
  {
    rule: 'number and text = string',
    type: 'number',
    old: ['34.50', '"34.50"'],
    json: [
      ['1.50', '1.50', '"1.50"'],
      ['"x"', null, '"x"'],
      ['null', null, null],
      ['""', null, '""'],
      ['-0', '0', '"0"'],
      ['9007199254740993', '9007199254740993', '"9007199254740993"'],
    ],
    csv: [
      ['1.50', '1.50', '"1.50"'],
      ['x', null, '"x"'],
      ['', null, null],
      ['-0', '0', '"-0"'],
      [' 12 ', '12', '" 12 "'],
      ['1e400', null, '"1e400"'],
    ],
    ...STRING,
  },
  {
    rule: 'number and 007 = string, to the character',
    type: 'number',
    old: ['7', '"7"'],
    json: [
      ['8', '8', '"8"'],
      ['"007"', null, '"007"'],
    ],
    csv: [
      ['8', '8', '"8"'],
      ['007', null, '"007"'],
      ['+1', null, '"+1"'],
      ['1,5', null, '"1,5"'],
    ],
    ...STRING,
  },
  {
    rule: 'number and boolean = string',
    type: 'number',
    old: ['1e3', '"1e3"'],
    json: [
      ['true', null, '"true"'],
      ['2', '2', '"2"'],
    ],
    csv: [
      ['TRUE', null, '"TRUE"'],
      ['2', '2', '"2"'],
    ],
    ...STRING,
  },
  {
    rule: 'number and array = string',
    type: 'number',
    old: ['1', '"1"'],
    json: [
      ['[1, "a"]', null, '"[1,\\"a\\"]"'],
      ['2', '2', '"2"'],
    ],
    csv: [
      ['[1, "a"]', null, '"[1, \\"a\\"]"'],
      ['2', '2', '"2"'],
    ],
    ...STRING,
  },
  {
    rule: 'boolean and number = string',
    type: 'boolean',
    old: ['true', '"true"'],
    json: [
      ['0', null, '"0"'],
      ['false', 'false', '"false"'],
      ['""', null, '""'],
    ],
    csv: [
      ['0', null, '"0"'],
      ['FALSE', 'false', '"FALSE"'],
      [' true', null, '" true"'],
    ],
    ...STRING,
  },
  {
    rule: 'duration and text = string',
    type: 'duration',
    old: ['1500', '"1500"'],
    json: [
      ['"soon"', null, '"soon"'],
      ['"PT1H"', '"PT1H"', '"PT1H"'],
      ['90', '90', '"90"'],
    ],
    csv: [
      ['soon', null, '"soon"'],
      ['PT1H', '"PT1H"', '"PT1H"'],
      ['90', '90', '"90"'],
      [' 90', null, '" 90"'],
    ],
    ...STRING,
  },
]

export const DAY = '"2024-01-03"'
export const MOMENT = '"2024-01-02T10:00"'

const texts: readonly Situation[] = [
  {
    rule: 'date and dateTime = dateTime',
    type: 'date',
    old: ['"2024-01-01"', '"2024-01-01"'],
    json: [
      [MOMENT, null, MOMENT],
      [DAY, DAY, DAY],
      ['""', null, null],
    ],
    csv: [
      ['2024-01-02T10:00', null, MOMENT],
      ['2024-01-03', DAY, DAY],
      ['', null, null],
    ],
    ...DATE_TIME,
  },
  {
    rule: 'date and text = string',
    type: 'date',
    old: ['"2024-01-01"', '"2024-01-01"'],
    json: [
      ['"soon"', null, '"soon"'],
      [MOMENT, null, MOMENT],
      [DAY, DAY, DAY],
      ['""', null, '""'],
    ],
    csv: [
      ['soon', null, '"soon"'],
      ['2024-01-02T10:00', null, MOMENT],
      ['2024-01-03', DAY, DAY],
    ],
    ...STRING,
  },
  {
    rule: 'dateTime and date = dateTime, as before',
    stays: true,
    type: 'dateTime',
    old: [MOMENT, MOMENT],
    json: [
      [DAY, DAY, DAY],
      ['""', null, null],
    ],
    csv: [['2024-01-03', DAY, DAY]],
    ...DATE_TIME,
  },
  {
    rule: 'time and text = string',
    type: 'time',
    old: ['"10:00"', '"10:00"'],
    json: [
      ['"noon"', null, '"noon"'],
      ['"11:30"', '"11:30"', '"11:30"'],
    ],
    csv: [
      ['noon', null, '"noon"'],
      ['11:30', '"11:30"', '"11:30"'],
    ],
    ...STRING,
  },
  {
    rule: 'emailAddress and number = string',
    type: 'emailAddress',
    old: ['"a@b.example"', '"a@b.example"'],
    json: [
      ['5', null, '"5"'],
      ['"c@d.example"', '"c@d.example"', '"c@d.example"'],
    ],
    csv: [
      ['5', null, '"5"'],
      ['c@d.example', '"c@d.example"', '"c@d.example"'],
    ],
    ...STRING,
  },
  {
    rule: 'phoneNumber and number = string, but the digits of CSV are a phone number',
    type: 'phoneNumber',
    old: ['"+49 30 12345"', '"+49 30 12345"'],
    json: [['12345', null, '"12345"']],
    csv: [
      ['call me', null, '"call me"'],
      ['12345', '"12345"', '"12345"'],
    ],
    ...STRING,
  },
  {
    rule: 'imageURI and another uri = a kind of uri',
    stays: true,
    type: 'imageURI',
    old: ['"https://a.example/b.png"', '"https://a.example/b.png"'],
    json: [['"https://a.example/c.mp3"', '"https://a.example/c.mp3"', '"https://a.example/c.mp3"']],
    csv: [['https://a.example/c.mp3', '"https://a.example/c.mp3"', '"https://a.example/c.mp3"']],
    takes: ['"https://a.example/d"'],
    refuses: ['"x y"', '5'],
  },
  {
    rule: 'uri and text = string',
    type: 'uri',
    old: ['"https://a.example/b"', '"https://a.example/b"'],
    json: [['"x y"', null, '"x y"']],
    csv: [['x y', null, '"x y"']],
    ...STRING,
  },
  {
    rule: 'markdown and number = string',
    type: 'markdown',
    old: ['"# a"', '"# a"'],
    json: [
      ['5', null, '"5"'],
      ['""', '""', '""'],
    ],
    csv: [],
    ...STRING,
  },
  {
    rule: 'string and what is none = string, as before',
    stays: true,
    type: 'string',
    old: ['"s"', '"s"'],
    json: [
      ['12.50', null, '"12.50"'],
      ['true', null, '"true"'],
      ['[1, 2]', null, '"[1,2]"'],
      ['""', '""', '""'],
    ],
    csv: [
      ['12.50', '"12.50"', '"12.50"'],
      ['TRUE', '"TRUE"', '"TRUE"'],
    ],
    ...STRING,
  },
]

const arrays: readonly Situation[] = [
  {
    rule: 'array of number and array of text = array of string',
    type: arrayOf('number'),
    old: ['[34.50]', '["34.50"]'],
    json: [
      ['["a"]', null, '["a"]'],
      ['[1.50, 2]', '[1.50,2]', '["1.50","2"]'],
      ['[1,"b"]', null, '["1","b"]'],
      ['[]', '[]', '[]'],
      ['""', null, null],
    ],
    csv: [],
    ...STRINGS,
  },
  {
    rule: 'array of number and the text of an array of text = array of string',
    type: arrayOf('number'),
    old: ['[34.50]', '["34.50"]'],
    json: [],
    csv: [
      ['["a", "b"]', null, '["a","b"]'],
      [' []', '[]', '[]'],
      ['', null, null],
    ],
    ...STRINGS,
  },
  {
    rule: 'array of boolean and array of number = array of string',
    type: arrayOf('boolean'),
    old: ['[true,false]', '["true","false"]'],
    json: [['[1]', null, '["1"]']],
    csv: [],
    ...STRINGS,
  },
  {
    rule: 'array of date and array of dateTime = array of dateTime',
    type: arrayOf('date'),
    old: ['["2024-01-01"]', '["2024-01-01"]'],
    json: [[`[${MOMENT}]`, null, `[${MOMENT}]`]],
    csv: [[`[ ${MOMENT} ]`, null, `[${MOMENT}]`]],
    takes: ['["2024-02-29","2024-02-29 11:00Z"]'],
    refuses: ['["x"]', '[5]', MOMENT],
  },
  {
    rule: 'array and what is none = string',
    type: arrayOf('number'),
    old: ['[34.50]', '"[34.50]"'],
    json: [
      ['5', null, '"5"'],
      ['[1, 2]', '[1,2]', '"[1,2]"'],
      ['["a"]', null, '"[\\"a\\"]"'],
    ],
    csv: [
      ['5', null, '"5"'],
      ['[1, 2]', '[1,2]', '"[1, 2]"'],
      ['[1', null, '"[1"'],
    ],
    ...STRING,
  },
]

export const KNOWN_COLUMNS: readonly Situation[] = [...numbers, ...texts, ...arrays]
