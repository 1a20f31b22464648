/**
 * A background task of a store. `sweep` deletes unreferenced and expired data, `fileSweep` deletes files that no row
 * names, `fold` rewrites segments with their row records, `codecs` records at open which compressions the segments
 * use, and `jobs` runs jobs and takes over those that another process left.
 */
export type BackgroundTask = 'sweep' | 'fileSweep' | 'fold' | 'codecs' | 'jobs'
