/** How often a random test runs: scaled by ROWSTASH_RUNS_SCALE, down for a quick look, up for a long night. */
export function runs(count: number): number {
  return Math.max(1, Math.ceil(count * Number(process.env['ROWSTASH_RUNS_SCALE'] ?? 1)))
}
