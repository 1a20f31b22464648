// Work that nobody waits for. Its failures go to the host, as no caller sees them.
import { isStoreError } from '../../base/store-error.js'
import type { BackgroundTask } from '../api/background-types.js'
import type { ResolvedOptions } from '../api/resolve-options.js'
import type { Lifecycle } from './lifecycle.js'

export class Background {
  readonly #lifecycle: Lifecycle
  readonly #onFailure: ResolvedOptions['onBackgroundFailure']

  constructor(
    lifecycle: Lifecycle,
    { onBackgroundFailure }: Pick<ResolvedOptions, 'onBackgroundFailure'>,
  ) {
    this.#lifecycle = lifecycle
    this.#onFailure = onBackgroundFailure
  }

  /** Begins work that keeps the store open until it ends. */
  run(task: BackgroundTask, work: () => Promise<unknown>): void {
    void this.settle(task, work)
  }

  /** As `run`; resolves when the work has ended, however it has. */
  async settle(task: BackgroundTask, work: () => Promise<unknown>): Promise<void> {
    try {
      await this.#lifecycle.run(work)
    } catch (failure) {
      this.report(task, failure)
    }
  }

  /** Reports a failure that no caller sees to the host. A store that is closed has not failed. */
  report(task: BackgroundTask, failure: unknown): void {
    if (isStoreError(failure) && failure.code === 'STORE_CLOSED') return
    this.#onFailure(failure, task)
  }
}
