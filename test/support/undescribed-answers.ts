// Answers in the current test that the OpenAPI document lacks. openapi-watch.ts finds them.

const problems: string[] = []
let isAnyAllowed = false

/** Allows all answers until the end of a test whose store fails as no real store does. */
export function allowAnyAnswer(): void {
  isAnyAllowed = true
}

export function noteAnswers(found: readonly string[]): void {
  problems.push(...found)
}

/** The findings of the current test, unless it allows all. */
export function takeAnswers(): readonly string[] {
  const found = problems.splice(0)
  const isAllowed = isAnyAllowed
  isAnyAllowed = false
  return isAllowed ? [] : found
}
