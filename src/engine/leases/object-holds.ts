// Keeps objects from being deleted while a backup reads them.
//
// Invariant: an object that is named in a view opened under a hold exists until the hold ends. (Objects that were
// chosen for deletion before the hold have no name in the view: a name that is gone never returns.)

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
