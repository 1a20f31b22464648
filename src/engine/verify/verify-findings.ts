// Collects the findings of a verification in bounded memory, and aborts the verification when it must end.
import { checkNotAborted } from '../../base/signals.js'
import { isStoreError } from '../../base/store-error.js'
import type { ObjectId } from '../../objects/objects.js'
import type { Lifecycle } from '../leases/lifecycle.js'
import type {
  Problem,
  VerifyCounts,
  VerifyFinding,
  VerifyFindingKind,
  VerifyOptions,
  VerifyPlace,
  VerifyReport,
  VerifySeverity,
} from '../types/verify-types.js'

/** Maximum number of findings in a report. Further ones are only counted. */
const FINDINGS_MAX = 1_000

const INFORMATION: ReadonlySet<VerifyFindingKind> = new Set(['orphan-object', 'orphan-record'])

/** Maximum number of objects that are remembered as undamaged, because a stash and a table may name the same object. */
const FINE_MAX = 100_000

export class Findings {
  readonly full: boolean
  readonly counts: { -readonly [Name in keyof VerifyCounts]: number } = {
    teams: 0,
    tables: 0,
    rows: 0,
    stashes: 0,
    files: 0,
    uploads: 0,
    objects: 0,
    bytes: 0,
  }
  /** The codecs of the frames that were read, one bit each; see `codecBit`. */
  codecs = 0
  readonly #options: VerifyOptions
  readonly #lifecycle: Lifecycle
  readonly #kept: VerifyFinding[] = []
  /** The IDs of undamaged segments and objects. */
  readonly #fine = new Set<ObjectId>()
  #counted: ObjectId | undefined
  #damage = 0
  #information = 0

  constructor(options: VerifyOptions, lifecycle: Lifecycle) {
    this.full = options.full ?? false
    this.#options = options
    this.#lifecycle = lifecycle
  }

  /**
   * Called before each step, so that neither a caller that aborts nor a close has to wait long. Reports the progress.
   */
  checkGoesOn(): void {
    checkNotAborted('verification', this.#options.signal)
    this.#lifecycle.checkOpen()
    this.#options.onProgress?.({ ...this.counts })
  }

  add({ kind, message, place }: Problem, where: VerifyPlace): void {
    const severity: VerifySeverity = INFORMATION.has(kind) ? 'information' : 'damage'
    if (severity === 'damage') this.#damage++
    else this.#information++
    const finding: VerifyFinding = {
      kind,
      severity,
      message,
      ...where,
      ...(place !== undefined && { place }),
    }
    if (this.#kept.length < FINDINGS_MAX) this.#kept.push(finding)
    this.#options.onFinding?.(finding)
  }

  addAll(problems: readonly Problem[], where: VerifyPlace): void {
    for (const problem of problems) this.add(problem, where)
  }

  /** Runs a step. If data is unreadable, that is a finding, and only this step ends. */
  async step<T>(where: VerifyPlace, run: () => Promise<T>): Promise<T | null> {
    this.checkGoesOn()
    try {
      return await run()
    } catch (failure) {
      this.add(toReadProblem(failure, 'record'), where)
      return null
    }
  }

  /** Counts an object. An object that segments share is counted once. */
  countObject(object: ObjectId): void {
    if (object !== this.#counted) this.counts.objects++
    this.#counted = object
  }

  isFine(object: ObjectId): boolean {
    return this.#fine.has(object)
  }

  noteFine(object: ObjectId): void {
    if (this.#fine.size < FINE_MAX) this.#fine.add(object)
  }

  get damageCount(): number {
    return this.#damage
  }

  report(): VerifyReport {
    return {
      ok: this.#damage === 0,
      full: this.full,
      damageCount: this.#damage,
      informationCount: this.#information,
      findings: this.#kept,
      checked: { ...this.counts },
    }
  }
}

/** Checks an object. A failure to read it is returned as its problem. */
export async function lookForProblems(
  kind: VerifyFindingKind,
  look: () => Promise<readonly Problem[]>,
): Promise<readonly Problem[]> {
  try {
    return await look()
  } catch (failure) {
    return [toReadProblem(failure, kind)]
  }
}

/** Converts a read failure into a problem of the data; rethrows any other failure. */
export function toReadProblem(failure: unknown, kind: VerifyFindingKind): Problem {
  if (isStoreError(failure)) {
    const { code, message } = failure
    if (code === 'DATA_CORRUPT') return { kind, message }
    if (code === 'DATA_LOSS') return { kind: 'commit-log', message }
    if (code === 'STORAGE_UNAVAILABLE') return { kind: 'unreadable', message }
  }
  throw failure
}
