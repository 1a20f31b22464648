/**
 * Why a program ended early. `usage`: a wrong command line, such as an unknown format; `failed`: it could not do its
 * work; otherwise the signal that ended it.
 */
export type FailureKind = 'usage' | 'failed' | 'SIGINT' | 'SIGPIPE' | 'SIGTERM'

/** A failure that the user can act on: shown as one line, without a stack. The command determines its exit code. */
export class ProgramFailure extends Error {
  override readonly name = 'ProgramFailure'

  constructor(
    readonly kind: FailureKind,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options)
  }
}
