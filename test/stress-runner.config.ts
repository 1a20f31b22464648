// Runs each test of a file several times in sequence, with its hooks. For `npm run test:stress`.
import process from 'node:process'
import { type RunnerTestSuite, TestRunner } from 'vitest'

const repeats = Number(process.env['ROWSTASH_REPEATS'] ?? 0)

function repeat({ tasks }: Pick<RunnerTestSuite, 'tasks'>): void {
  for (const task of tasks) {
    if (task.type === 'test') task.repeats = repeats
    else repeat(task)
  }
}

// vitest requires a default export.
export default class RepeatingRunner extends TestRunner {
  onCollected(files: RunnerTestSuite['tasks']): void {
    repeat({ tasks: files })
  }
}
