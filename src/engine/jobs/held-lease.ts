// The lease of a job that this engine works on. It is renewed during the work, and returned when the work stops.
import type { JobLease } from '../../format/job-records.js'
import { decodeLease, encodeLease, OWNER_BYTES } from '../../format/job-records.js'
import { type JobKey, jobLeaseKey } from '../../format/keys.js'
import { isHeld, LeaseLost } from '../commit/lease.js'
import type { TeamContext } from '../context/store-context.js'
import type { JobProgress } from '../types/job-types.js'

export class HeldLease {
  readonly #team: TeamContext
  readonly #job: JobKey
  #lease: JobLease
  #progress: JobProgress = { rows: 0, bytes: 0 }
  #renewing: Promise<void> | undefined
  #isLost = false
  #isOver = false

  constructor(team: TeamContext, job: JobKey, lease: JobLease) {
    this.#team = team
    this.#job = job
    this.#lease = lease
  }

  get lease(): JobLease {
    return this.#lease
  }

  get progress(): JobProgress {
    return this.#progress
  }

  /** Notes the progress of the work. @throws {LeaseLost} if another engine has taken the job over */
  note(progress: JobProgress): void {
    if (this.#isLost) throw new LeaseLost()
    this.#progress = progress
  }

  /** Shows other engines that the work continues. Concurrent calls share a renewal. */
  renew(): Promise<void> {
    if (this.#isOver) return Promise.resolve()
    const { clock, jobLeaseMs } = this.#team.options
    this.#renewing ??= this.#write({ until: clock.now() + jobLeaseMs }).finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  /** Returns the lease, so that any engine may take the job at once. */
  async giveBack(): Promise<void> {
    await this.end()
    await this.#write({ owner: new Uint8Array(OWNER_BYTES) })
  }

  /** Ends the renewals. Resolves when no renewal is in progress. The caller of a renewal gets its failure. */
  async end(): Promise<void> {
    this.#isOver = true
    await this.#renewing?.catch(() => undefined)
  }

  async #write(change: Partial<JobLease>): Promise<void> {
    const key = jobLeaseKey(this.#job)
    const { partition } = this.#team
    const next = { ...this.#lease, ...this.#progress, ...change, beat: this.#lease.beat + 1 }
    const { ok } = await partition.commit({
      checks: [{ key, equals: encodeLease(this.#lease) }],
      puts: [[key, encodeLease(next)]],
    })
    if (ok) {
      this.#lease = next
      return
    }
    const bytes = await partition.read((view) => view.get(key))
    const there = bytes === null ? null : decodeLease(bytes)
    // A renewal whose outcome was unknown may have been written.
    if (there !== null && isHeld(this.#lease, there)) this.#lease = there
    else this.#isLost = true
  }
}
