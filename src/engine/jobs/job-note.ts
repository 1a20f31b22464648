// The note of a job, in which the HTTP contract stores what it knows.

/** The name of the key that began the job, whether that key is limited to tables, and the apps for the result. */
export type JobNote = Readonly<{
  key?: string
  isLimited?: boolean
  linked?: readonly string[] | undefined
}>

/** Parses the note. The library allows any text, and earlier versions stored only the apps. */
export function jobNoteOf({ note }: Readonly<{ note: string }>): JobNote {
  try {
    const kept: unknown = JSON.parse(note)
    return Array.isArray(kept) ? { linked: kept } : Object(kept)
  } catch {
    return {}
  }
}
