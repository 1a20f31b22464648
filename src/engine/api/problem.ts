// A problem that verification, a backup or a read found.
import type { VerifyFindingKind } from './verify-types.js'

/** What is wrong, without where. */
export type Problem = Readonly<{ kind: VerifyFindingKind; message: string; place?: string }>
