// Runs background work, and reports its failures to the host, because no caller awaits the work.
import { createTell } from '../../base/hooks.js'
import { isStoreError } from '../../base/store-error.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import type { BackgroundTask } from '../types/store-options.js'
import type { Lifecycle } from './lifecycle.js'

export class Background {
  readonly #lifecycle: Lifecycle
  readonly #tell = createTell()
  readonly #onFailure: ResolvedOptions['onBackgroundFailure']

  constructor(
    lifecycle: Lifecycle,
    { onBackgroundFailure }: Pick<ResolvedOptions, 'onBackgroundFailure'>,
  ) {
    this.#lifecycle = lifecycle
    this.#onFailure = onBackgroundFailure
  }

  /** Starts work and keeps the store open until the work ends. */
  run(task: BackgroundTask, work: () => Promise<unknown>): void {
    void this.settle(task, work)
  }

  /** Starts work and keeps the store open. Resolves when the work has ended, even if it failed. */
  async settle(task: BackgroundTask, work: () => Promise<unknown>): Promise<void> {
    try {
      await this.#lifecycle.run(work)
    } catch (failure) {
      this.report(task, failure)
    }
  }

  /** Reports a failure of background work to the host. STORE_CLOSED is not a failure. */
  report(task: BackgroundTask, failure: unknown): void {
    if (isStoreError(failure) && failure.code === 'STORE_CLOSED') return
    this.#tell('onBackgroundFailure', () => this.#onFailure(failure, task))
  }
}
