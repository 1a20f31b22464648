// `appsToLink`, a list of app IDs in the query or the body, and `linkedAppIDs`, the listed apps that exist.

import { queryValues } from '../http/query.js'
import type { Call } from './call.js'

/** The app IDs in `appsToLink`, which may be repeated or comma-separated; undefined if it is not given. */
export function appIdsOfQuery({ query }: Call): readonly string[] | undefined {
  const values = queryValues(query, 'appsToLink')
  if (values.length === 0) return undefined
  return values.flatMap((value) => value.split(',')).filter((appId) => appId !== '')
}

/** The given apps that exist, each once; undefined if no apps are given. */
export function linkedApps(
  { apps }: Call,
  ofQuery: readonly string[] | undefined,
  ofBody: readonly string[] | undefined,
): readonly string[] | undefined {
  if (ofQuery === undefined && ofBody === undefined) return undefined
  const appIds = new Set([...(ofQuery ?? []), ...(ofBody ?? [])])
  return [...appIds].filter((appId) => apps === undefined || apps.has(appId))
}
