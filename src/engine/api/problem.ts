// A problem that verification, a backup or a read found.
import type { VerifyFindingKind } from './verify-types.js'

/** The kind of a problem and its message, without the table, file or object that it concerns. */
export type Problem = Readonly<{ kind: VerifyFindingKind; message: string; place?: string }>
