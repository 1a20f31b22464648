// The damage that a full verification finds, without findings of unused data.
import type { Store, VerifyFinding } from '../../src/index.js'

export async function damageOf(store: Store): Promise<readonly VerifyFinding[]> {
  const { findings } = await store.verify({ full: true })
  return findings.filter(({ severity }) => severity === 'damage')
}
