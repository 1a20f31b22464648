// Keeps objects from being deleted while a backup reads them.
//
// Invariant: an object that is named in a view opened under a hold exists until the hold ends. (No record names the
// objects chosen for deletion earlier, and a name that is gone never returns.)

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
