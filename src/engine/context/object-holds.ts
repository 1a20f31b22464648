// Keeps objects from being deleted while a backup reads the names of them that it has seen.
//
// Invariant: an object that a view names which was opened under a hold is there until the hold ends. (What
// was chosen for deletion before is named by no record any more, and a name that is gone never comes back.)

export class ObjectHolds {
  #held = 0

  get isHeld(): boolean {
    return this.#held > 0
  }

  /** No object goes until the returned function is called, once. */
  hold(): () => void {
    this.#held++
    return () => {
      this.#held--
    }
  }
}
