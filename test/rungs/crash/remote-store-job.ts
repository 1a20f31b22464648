// Stores in separate processes, and the messages to and from them.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

export type RemoteJob = Readonly<{
  directory: string
  table: string
  /** The beginning of its rows' texts. */
  name: string
  /** The user as which it runs. */
  uid?: number
}>

export type RemoteCommand = 'add' | 'addForAWhile' | 'addUntilRefused' | 'read' | 'close'

export type RemoteAnswer = Readonly<{
  /** Number of rows acknowledged so far: the first ones. */
  added: number
  failure: Readonly<{ code: string; message: string; outcome: string | null }> | null
}>

export class RemoteStore {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async open(program: string, job: RemoteJob): Promise<RemoteStore> {
    const remote = new RemoteStore(fork(program, [JSON.stringify(job)]))
    await remote.#answer()
    return remote
  }

  async ask(command: RemoteCommand): Promise<RemoteAnswer> {
    const answer = this.#answer()
    this.#child.send(command)
    return await answer
  }

  /** Kills the process. */
  kill(): void {
    this.#child.kill('SIGKILL')
  }

  async #answer(): Promise<RemoteAnswer> {
    const ended = once(this.#child, 'exit').then(([code, signal]) => {
      throw new Error(`The process ended by ${code ?? signal}`)
    })
    const [said] = await Promise.race([once(this.#child, 'message'), ended])
    return said as RemoteAnswer
  }
}
