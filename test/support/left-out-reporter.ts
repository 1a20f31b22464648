// Reports at the end of `npm test` what it did not run, and which command does.
import process from 'node:process'
import type { Reporter, TestModule } from 'vitest/node'

/** One line for each file with tests that this machine or this version of Node skips. */
function skippedLines(modules: readonly TestModule[]): string[] {
  return modules.flatMap((module) => {
    const [first, ...more] = module.children.allTests('skipped')
    if (first === undefined) return []
    return [`  ${module.relativeModuleId}: ${more.length + 1}, such as "${first.fullName}"`]
  })
}

export class LeftOutReporter implements Reporter {
  readonly #leftOut: Readonly<Record<string, readonly string[]>>

  /** @param leftOut - Files and folders that another command runs, by what they need. */
  constructor(leftOut: Readonly<Record<string, readonly string[]>>) {
    this.#leftOut = leftOut
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = skippedLines(modules)
    const lines = [
      ...(skipped.length > 0 ? ['Skipped, because this machine lacks what they need:'] : []),
      ...skipped,
      'Left to `npm run test:all`, which also makes all runs of each random test:',
      ...Object.entries(this.#leftOut).map(([needs, paths]) => `  ${needs}: ${paths.join(' ')}`),
    ]
    process.stdout.write(`\n${lines.join('\n')}\n`)
  }
}
