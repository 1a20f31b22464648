// Standard Schema, version 1: the common interface of many validation libraries.

/** Why a value is rejected, and the member that is wrong. */
export type StandardIssue = Readonly<{
  message: string
  path?: readonly (PropertyKey | Readonly<{ key: PropertyKey }>)[] | undefined
}>

/** The output of a validator, or why it rejects the value. */
export type StandardResult<Output> =
  | Readonly<{ value: Output; issues?: undefined }>
  | Readonly<{ issues: readonly StandardIssue[] }>

/** A validator that implements Standard Schema, version 1, such as a schema of zod, valibot or arktype. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': Readonly<{
    version: 1
    vendor: string
    validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    types?: Readonly<{ input: Input; output: Output }> | undefined
  }>
}
