// Rows that pass a validator of the caller before the store reads them.

import { isAsyncIterable, isIterable } from '../../base/options.js'
import { membersOf } from '../../base/plain-value.js'
import { StoreError } from '../../base/store-error.js'
import { validatorOf } from '../../schema/define-schema.js'
import type { StandardIssue, StandardSchema } from '../../schema/standard-schema.js'
import type { RowInput, RowsInput, Stash } from '../types/row-types.js'

/** Maximum number of issues of a row that a message names. */
const ISSUES_MAX = 3

/** Maximum number of characters of an issue in a message. */
const ISSUE_CHARS_MAX = 300

/**
 * The rows as the validator of a schema returns them; without a validator, the rows as they are.
 * @param schema - The schema as the caller gave it, not checked yet.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR if the rows are not objects that a validator could take
 */
export function validatedRows(schema: unknown, rows: RowsInput | Stash): RowsInput | Stash {
  const validator = validatorOf(schema)
  if (validator === undefined || typeof rows !== 'object' || rows === null) return rows
  if (isAsyncIterable(rows) || isIterable(rows)) return validated(validator, rows)
  throw new StoreError(
    'REQUEST_VALIDATION_ERROR',
    'The schema has a validator, which takes row objects: rows must be an iterable of them, not text or a stash',
  )
}

async function* validated(
  validator: StandardSchema,
  rows: Iterable<RowInput> | AsyncIterable<RowInput>,
): AsyncGenerator<RowInput> {
  let index = 0
  for await (const row of rows) yield await validatedRow(validator, row, index++)
}

/** The row ID is not a cell: it bypasses the validator, whose schema may not have it. */
async function validatedRow(
  validator: StandardSchema,
  given: RowInput,
  index: number,
): Promise<RowInput> {
  if (membersOf(given) === undefined) return given // The reader refuses it: it is not a row.
  const { $rowID, ...cells } = given as Readonly<Record<string, unknown>>
  const result = await validator['~standard'].validate($rowID === undefined ? given : cells)
  if (result.issues !== undefined) throw refusedRow(result.issues, index)
  const row = result.value as RowInput
  return $rowID === undefined ? row : { ...row, $rowID }
}

function refusedRow(issues: readonly StandardIssue[], index: number): StoreError {
  const named = issues.slice(0, ISSUES_MAX).map(describeIssue)
  const more = issues.length > ISSUES_MAX ? `; ${issues.length - ISSUES_MAX} more` : ''
  const message = `The validator rejected row ${index} (counted from 0): ${named.join('; ')}${more}`
  const [first] = issues
  const column = first === undefined ? undefined : columnOfIssue(first)
  return new StoreError('COLUMN_HAS_INVALID_VALUE', message, {
    row: index,
    ...(column === undefined ? {} : { column }),
    ...(first === undefined ? {} : { rule: cutIssueText(first.message) }),
  })
}

function describeIssue(issue: StandardIssue): string {
  const column = columnOfIssue(issue)
  return column === undefined
    ? cutIssueText(issue.message)
    : `column '${column}': ${cutIssueText(issue.message)}`
}

function columnOfIssue({ path }: StandardIssue): string | undefined {
  const [first] = path ?? []
  if (first === undefined) return undefined
  return cutIssueText(String(typeof first === 'object' ? first.key : first))
}

function cutIssueText(text: string): string {
  return String(text).slice(0, ISSUE_CHARS_MAX)
}
