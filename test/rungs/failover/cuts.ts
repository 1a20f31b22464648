// Cuts connections while a rung runs.
import type { CutProxy } from '../../support/cut-proxy.js'

const CUT_MS = 700

/** Cuts all connections every 0.7 seconds, until the returned function is called. */
export function cutOften(proxies: readonly CutProxy[]): () => void {
  const cutting = setInterval(() => {
    for (const { cut } of proxies) cut()
  }, CUT_MS)
  return () => clearInterval(cutting)
}
