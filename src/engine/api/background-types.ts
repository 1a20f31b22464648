/**
 * A background task of a store. `sweep` deletes unreferenced and expired data, `fileSweep` deletes files that no row
 * names, `fold` rewrites segments with their row records, and `codecs` records at open which compressions the segments
 * use.
 */
export type BackgroundTask = 'sweep' | 'fileSweep' | 'fold' | 'codecs'
