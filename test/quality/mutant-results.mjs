// A reporter for Stryker that keeps each mutant's result as soon as it is known, also in a file.
import { appendFileSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import process from 'node:process'
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin'

/** All mutants with a result, in the order of their results. */
export const results = []

class MutantResults {
  #ran = 0
  #toRun = 0

  onMutationTestingPlanReady({ mutantPlans }) {
    const isToRun = ({ plan, runOptions }) => plan === 'Run' && runOptions.testFilter?.length !== 0
    this.#toRun = mutantPlans.filter(isToRun).length
    console.log(`${this.#toRun} mutants to run`)
  }

  onMutantTested({ id, fileName, location, mutatorName, replacement, status, ...rest }) {
    const path = relative(process.cwd(), fileName)
    const { line } = location.start
    const source = readFileSync(fileName, 'utf8').split('\n')[line - 1]?.trim()
    const reason = rest.statusReason?.slice(0, 300)
    const what = { id, path, line, mutatorName, replacement, source }
    results.push({ ...what, status, reason, killedBy: rest.killedBy })
    if (status === 'Ignored') return
    appendFileSync('coverage/mutants.jsonl', `${JSON.stringify(results.at(-1))}\n`)
    if (status !== 'NoCoverage' && ++this.#ran % 20 === 0) {
      console.log(`${this.#ran} of ${this.#toRun}`)
    }
  }
}

export const strykerPlugins = [
  declareClassPlugin(PluginKind.Reporter, 'mutant-results', MutantResults),
]
