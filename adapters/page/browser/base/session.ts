/** How the page gets its rights: by a key that a person enters, or by the session of `rowstash open`. */
export type PageSession =
  | Readonly<{ mode: 'key'; parquet: boolean }>
  | Readonly<{
      mode: 'session'
      /** The API key of its requests. */
      key: string
      writable: boolean
      /** Whether the server writes Parquet. */
      parquet: boolean
      team: string
      place: string
    }>
