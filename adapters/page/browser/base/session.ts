/** How the page gets its rights: by a key that a person enters, or by the session of `rowstash open`. */
export type PageSession =
  | Readonly<{ mode: 'key' }>
  | Readonly<{
      mode: 'session'
      /** The API key of its requests. */
      key: string
      writable: boolean
      team: string
      place: string
    }>
