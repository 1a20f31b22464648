// What the contract keeps with a job, as its note.

/** The name of the key that began the job, whether it is limited to tables, and the apps for the result. */
export type JobNote = Readonly<{
  key?: string
  isLimited?: boolean
  linked?: readonly string[] | undefined
}>

/** The note of a job that the library began is any text, and that of an earlier version only the apps. */
export function jobNoteOf({ note }: Readonly<{ note: string }>): JobNote {
  try {
    const kept: unknown = JSON.parse(note)
    return Array.isArray(kept) ? { linked: kept } : Object(kept)
  } catch {
    return {}
  }
}
