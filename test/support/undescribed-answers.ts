// Answers of the test that runs which the OpenAPI document does not have; openapi-watch.ts finds them.

const problems: string[] = []
let isAnyAllowed = false

/** For a test that makes a store fail as no store does: until its end. */
export function allowAnyAnswer(): void {
  isAnyAllowed = true
}

export function noteAnswers(found: readonly string[]): void {
  problems.push(...found)
}

/** The findings of the test that ends, unless it allows all. */
export function takeAnswers(): readonly string[] {
  const found = problems.splice(0)
  const isAllowed = isAnyAllowed
  isAnyAllowed = false
  return isAllowed ? [] : found
}
