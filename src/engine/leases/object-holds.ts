// Keeps objects from being deleted while a backup reads them.
//
// Invariant: an object that is named in a view opened under a hold exists until the hold ends. (Objects chosen for
// deletion before are named by no record any more, and a name that is gone never comes back.)

export class ObjectHolds {
  #held = 0

  get isHeld(): boolean {
    return this.#held > 0
  }

  /** Prevents the deletion of objects until the returned function is called, once. */
  hold(): () => void {
    this.#held++
    return () => {
      this.#held--
    }
  }
}
