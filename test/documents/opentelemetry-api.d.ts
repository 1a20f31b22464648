// As much of `@opentelemetry/api` as the documents use, so that they compile without the package.
export type Context = Readonly<{ getValue(key: symbol): unknown }>

export interface Span {
  updateName(name: string): this
  setAttribute(key: string, value: string | number | boolean): this
  setStatus(status: { code: SpanStatusCode; message?: string }): this
  end(): void
}

export interface Tracer {
  startSpan(
    name: string,
    options?: { kind?: SpanKind; startTime?: number },
    context?: Context,
  ): Span
}

export enum SpanKind {
  SERVER = 1,
}

export enum SpanStatusCode {
  ERROR = 2,
}

export const trace: { getTracer(name: string): Tracer }
export const context: { active(): Context }
export const propagation: { extract(context: Context, carrier: unknown): Context }
