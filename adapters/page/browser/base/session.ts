/** How the page gets its rights: by a key that a person enters, or by the session that `rowstash open` began. */
export type PageSession =
  | Readonly<{ mode: 'key' }>
  | Readonly<{
      mode: 'session'
      /** What its requests have as an API key. */
      key: string
      writable: boolean
      team: string
      place: string
    }>
