/**
 * What a store does in the background: `sweep` deletes what is no longer referenced or has expired, `fileSweep` files
 * that no row names, `fold` rewrites segments with their row records; `codecs` notes at open which compressions the
 * segments use.
 */
export type BackgroundTask = 'sweep' | 'fileSweep' | 'fold' | 'codecs'
