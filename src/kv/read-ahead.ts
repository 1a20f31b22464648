import type { Awaitable } from '../base/awaitable.js'
import type { Bytes } from '../base/bytes.js'
import { byteText } from '../base/platform.js'
import type { KvView } from './kv.js'

/**
 * A view that has read some records in one query, and answers `get` for them from memory: where the database is on
 * another machine, each query is a round trip.
 * @param keys - undefined: the view itself, as queries cost nothing there.
 */
export function readAhead(view: KvView, keys: readonly Bytes[] | undefined): Awaitable<KvView> {
  if (keys === undefined || keys.length === 0) return view
  return view.getMany(keys).then((values) => {
    const known = new Map(keys.map((key, i) => [byteText(key), values[i] ?? null]))
    const { isEmpty } = view
    return {
      get: (key) => {
        const value = known.get(byteText(key))
        return value === undefined ? view.get(key) : value
      },
      getMany: (wanted) => view.getMany(wanted),
      scan: (scan) => view.scan(scan),
      ...(isEmpty && { isEmpty: (range) => isEmpty.call(view, range) }),
    }
  })
}
