/**
 * A background task of a store. `sweep` deletes unreferenced and expired data, `fileSweep` deletes files that no row
 * names, `fold` rewrites segments with their row records, `settle` compresses segments of some age, `codecs` records at open which compressions the segments
 * use, `jobs` runs jobs and takes over those that another process left, and `lease` shows the processes that share
 * the store that this one lives.
 */
export type BackgroundTask = 'sweep' | 'fileSweep' | 'fold' | 'settle' | 'codecs' | 'jobs' | 'lease'
