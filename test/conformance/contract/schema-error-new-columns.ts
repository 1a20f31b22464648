// CONTRACT.md, section 3, `onSchemaError` and Inference: values of a column `c` that the table lacks.
import { DATE_TIME, DAY, MOMENT, type Situation, STRING, STRINGS } from './schema-error-values.js'

const BOOLEAN = { takes: ['true'], refuses: ['"true"', '1'] }
const NUMBER = { takes: ['5'], refuses: ['"5"', 'true'] }

export const UNKNOWN_COLUMNS: readonly Situation[] = [
  {
    rule: 'an unknown column of numbers becomes number',
    type: null,
    json: [
      ['1.50', null, '1.50'],
      ['null', null, null],
      ['""', null, null],
    ],
    csv: [
      ['1.50', null, '1.50'],
      ['', null, null],
    ],
    ...NUMBER,
  },
  {
    rule: 'an unknown column of booleans becomes boolean',
    type: null,
    json: [['true', null, 'true']],
    csv: [['TRUE', null, 'true']],
    ...BOOLEAN,
  },
  {
    rule: 'an unknown column of empty cells becomes string',
    type: null,
    json: [['null', null, null]],
    csv: [['', null, null]],
    ...STRING,
  },
  {
    rule: 'an unknown column of "" becomes string',
    type: null,
    json: [
      ['""', null, '""'],
      ['null', null, null],
    ],
    csv: [['', null, null]],
    ...STRING,
  },
  {
    rule: 'an unknown column of a mix becomes string',
    type: null,
    json: [
      ['12.50', null, '"12.50"'],
      ['"x"', null, '"x"'],
      ['true', null, '"true"'],
      ['[1, 2]', null, '"[1,2]"'],
      ['""', null, '""'],
    ],
    csv: [
      ['12.50', null, '"12.50"'],
      ['x', null, '"x"'],
      ['TRUE', null, '"TRUE"'],
    ],
    ...STRING,
  },
  {
    rule: 'an unknown column of 007 becomes string',
    type: null,
    json: [],
    csv: [
      ['8', null, '"8"'],
      ['007', null, '"007"'],
    ],
    ...STRING,
  },
  {
    rule: 'an unknown column of CSV numbers of 16 digits becomes string',
    type: null,
    json: [],
    csv: [
      ['1', null, '"1"'],
      ['1234567890123456', null, '"1234567890123456"'],
    ],
    ...STRING,
  },
  {
    rule: 'an unknown column of date and dateTime becomes dateTime',
    type: null,
    json: [
      [DAY, null, DAY],
      [MOMENT, null, MOMENT],
    ],
    csv: [
      ['2024-01-03', null, DAY],
      ['2024-01-02T10:00', null, MOMENT],
    ],
    ...DATE_TIME,
  },
  {
    rule: 'an unknown column of arrays of numbers becomes array of number',
    type: null,
    json: [
      ['[1, 2.50]', null, '[1,2.50]'],
      ['[]', null, '[]'],
    ],
    csv: [],
    takes: ['[5]'],
    refuses: ['["x"]', '5'],
  },
  {
    rule: 'an unknown column of arrays of a mix becomes array of string',
    type: null,
    json: [
      ['[1]', null, '["1"]'],
      ['["x",true]', null, '["x","true"]'],
    ],
    csv: [],
    ...STRINGS,
  },
]
