// Whether stashes are complete: one that has lost chunks accepts no others until it is deleted.
import { Mismatch, show } from '../model/operation.js'
import type { DiskJudge, SimOperation } from './operations.js'
import type { ModelStash, Outcome } from './oracle.js'

type Answer = Readonly<{ text: string; isDeletion: boolean; outcome: Outcome }>

/** The answers to concurrent puts and deletions of a stash. */
export function answersTo(
  stash: ModelStash,
  operations: readonly SimOperation[],
  outcomes: readonly Outcome[],
): Answer[] {
  return operations.flatMap(({ stashed, text }, i) => {
    const outcome = outcomes[i]
    if (stashed?.stash !== stash || outcome === undefined) return []
    return [{ text, isDeletion: stashed.serial === null, outcome }]
  })
}

/** Applies the answers. @throws {Mismatch} if they are impossible */
export function settleWhole(world: DiskJudge, stash: ModelStash, answers: readonly Answer[]): void {
  const kindsOf = (isDeletion: boolean): ReadonlySet<Outcome['kind']> =>
    new Set(
      answers.filter((one) => one.isDeletion === isDeletion).map(({ outcome }) => outcome.kind),
    )
  const [puts, deletions] = [kindsOf(false), kindsOf(true)]
  const mayBeDeleted = deletions.has('done') || deletions.has('unknown')
  const isRefused = answers.some((one) => isRefusal(world, stash, one))
  if (puts.has('done') && !mayBeDeleted && (stash.isGone || isRefused)) {
    throw new Mismatch(`The stash ${stash.id} has lost chunks, and takes others`)
  }
  if (puts.has('done') || mayBeDeleted) stash.isGone = false
  if (puts.has('done') || deletions.has('done')) stash.isDoubted = false
  if (isRefused && !mayBeDeleted) {
    stash.isGone = true
    for (const serial of stash.chunks.keys()) stash.chunks.set(serial, [null])
  }
}

/** Whether a chunk was refused because the stash has lost others. */
function isRefusal(
  world: DiskJudge,
  { isDoubted }: ModelStash,
  { text, isDeletion, outcome }: Answer,
): boolean {
  if (isDeletion || outcome.kind !== 'failed' || world.isOfDisk(outcome.failure)) return false
  if (isDoubted && outcome.failure.code === 'STASH_NOT_FOUND') return true
  throw new Mismatch(`${text}: ${show(outcome.failure)}`)
}
