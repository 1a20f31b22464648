// The note of a job, in which the HTTP layer stores what it knows of the job.

/**
 * The name of the key that began the job, whether that key is limited to tables, and the apps to be named in the
 * result.
 */
export type JobNote = Readonly<{
  key?: string
  isLimited?: boolean
  linked?: readonly string[] | undefined
}>

/** Parses the note. Callers of the library may give any text, and earlier versions stored only the apps. */
export function jobNoteOf({ note }: Readonly<{ note: string }>): JobNote {
  try {
    const kept: unknown = JSON.parse(note)
    return Array.isArray(kept) ? { linked: kept } : Object(kept)
  } catch {
    return {}
  }
}
