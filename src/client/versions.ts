/** The version in an ETag, without its quotes. */
export function versionOf({ headers }: Response): string {
  return (headers.get('etag') ?? '').replace(/^"|"$/g, '')
}
