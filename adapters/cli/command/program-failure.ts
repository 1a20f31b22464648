/**
 * Why a program ended early: `usage`: it was called wrongly, as with an unknown format; `failed`: it could not do its
 * work; a signal: that signal ended it.
 */
export type FailureKind = 'usage' | 'failed' | 'SIGINT' | 'SIGPIPE' | 'SIGTERM'

/**
 * A failure that the person at the terminal can act on: shown as one line, without a stack. Its exit code is up to the
 * command (`cli-command`).
 */
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
