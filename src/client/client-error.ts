/** What a server of the contract refused, or that it could not be reached. */
export class ClientError extends Error {
  /** Always `ClientError`. */
  override readonly name = 'ClientError'
  /** Status of the answer; 0: there was none. */
  readonly status: number
  /** Type of the error in the answer, such as `table_not_found`; empty: there was none. */
  readonly type: string

  constructor(message: string, status: number, type = '', cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.status = status
    this.type = type
  }
}
