/** The number of runs of a random test, scaled by ROWSTASH_RUNS_SCALE: down for a quick check, up for a long night. */
export function runs(count: number): number {
  return Math.max(1, Math.ceil(count * Number(process.env['ROWSTASH_RUNS_SCALE'] ?? 1)))
}
