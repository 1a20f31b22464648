// What a full verification finds damaged; what is only left over is none.
import type { Store, VerifyFinding } from '../../src/index.js'

export async function damageOf(store: Store): Promise<readonly VerifyFinding[]> {
  const { findings } = await store.verify({ full: true })
  return findings.filter(({ severity }) => severity === 'damage')
}
