// Opens damaged stores in a separate process, which is restarted when one has ended it.
import { type ChildProcess, fork } from 'node:child_process'
import type { Known } from '../../support/read-everything.js'

type Right = Readonly<{ known: Known; answers: readonly (readonly [string, string])[] }>

export type DamagedQuestion = Readonly<{
  /** A folder in which to create stores. */
  make?: string
  /** A store to open. */
  judge?: string
  /** How often to open it, and to change something. */
  times?: number
  /** Open it in spite of a loss. Then any answer is allowed. */
  acceptLoss?: boolean
  /** The right answers of a store that was created. */
  right?: Right
}>

export type DamagedAnswer = Readonly<{
  how: 'made' | 'refused' | 'opened' | 'ended'
  /** The code of the error with which it was refused. */
  code?: string
  problem: string | null
  right?: Right
}>

export class DamagedStores {
  readonly #program: string
  #child: ChildProcess | undefined
  #right: Right | undefined

  constructor(program: string) {
    this.#program = program
  }

  async make(folder: string): Promise<void> {
    const { right, problem } = await this.#ask({ make: folder })
    if (right === undefined) throw new Error(`The stores were not made: ${problem}`)
    this.#right = right
  }

  async judge(question: DamagedQuestion): Promise<DamagedAnswer> {
    const isNew = this.#child === undefined
    return await this.#ask({
      ...question,
      ...(isNew && this.#right && { right: this.#right }),
    })
  }

  end(): void {
    this.#child?.kill()
  }

  async #ask(question: DamagedQuestion): Promise<DamagedAnswer> {
    const child = this.#child ?? fork(this.#program, { silent: true })
    this.#child = child
    let said = ''
    child.stderr?.on('data', (piece: Buffer) => {
      said += piece.toString()
    })
    const answer = await new Promise<DamagedAnswer>((resolve) => {
      child.once('message', (message) => resolve(message as DamagedAnswer))
      child.once('exit', (code, signal) => {
        this.#child = undefined
        resolve({ how: 'ended', problem: `the process ended by ${code ?? signal}: ${said.trim()}` })
      })
      child.send(question)
    })
    child.stderr?.removeAllListeners('data')
    child.removeAllListeners('exit')
    return answer
  }
}
