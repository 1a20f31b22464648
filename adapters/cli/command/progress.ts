// Shows the progress of a command: a bar on a terminal, otherwise an occasional line of JSON.
import { shownLine } from './terminal.js'

const BAR_CELLS = 24
const REDRAW_MS = 100
const LINE_MS = 5_000

/** Moves to the first column and clears the line (ECMA-48). */
const CLEAR_LINE = '\r\u001b[2K'

export type ProgressState = Readonly<{
  rows: number
  bytes: number
  /** 0: unknown. */
  bytesTotal: number
  elapsedMs: number
}>

export interface Progress {
  /** @param rows - The number of rows so far. `bytes` is the number of bytes so far. */
  show(rows: number, bytes: number): void
  /** Writes a permanent line without breaking the bar. */
  note(line: string): void
  /** Removes the bar. */
  close(): void
}

/** The required part of a stream such as `process.stderr`. */
export type ProgressOutput = Readonly<{ isTTY?: boolean; write(text: string): unknown }>

/** @param asJson - Whether notes are written as lines of JSON too. */
export function openProgress(output: ProgressOutput, bytesTotal: number, asJson = false): Progress {
  const isTerminal = output.isTTY === true && !asJson
  const startMs = performance.now()
  let shownMs = startMs

  function draw(rows: number, bytes: number): void {
    shownMs = performance.now()
    const state = { rows, bytes, bytesTotal, elapsedMs: shownMs - startMs }
    if (!isTerminal) output.write(`${JSON.stringify({ progress: progressOf(state) })}\n`)
    else output.write(`${CLEAR_LINE}${renderKnownBar(bytes, bytesTotal)}${renderProgress(state)}`)
  }

  return {
    show(rows, bytes) {
      if (performance.now() - shownMs >= (isTerminal ? REDRAW_MS : LINE_MS)) draw(rows, bytes)
    },
    note(line) {
      const shown = shownLine(asJson ? JSON.stringify({ note: line }) : line)
      output.write(isTerminal ? `${CLEAR_LINE}${shown}\n` : `${shown}\n`)
    },
    close() {
      if (isTerminal) output.write(CLEAR_LINE)
    },
  }
}

function renderKnownBar(bytes: number, bytesTotal: number): string {
  return bytesTotal === 0 ? '' : `${renderBar(bytes, bytesTotal)} `
}

type Shown = Readonly<{
  rows: number
  bytes: number
  /** Absent: unknown, as for the standard input. */
  bytesTotal?: number
  rowsPerSecond: number
  secondsLeft?: number
}>

function progressOf({ rows, bytes, bytesTotal, elapsedMs }: ProgressState): Shown {
  const done = share(bytes, bytesTotal)
  const rowsPerSecond = elapsedMs > 0 ? Math.round((rows * 1000) / elapsedMs) : 0
  if (bytesTotal === 0) return { rows, bytes, rowsPerSecond }
  if (done === 0) return { rows, bytes, bytesTotal, rowsPerSecond }
  const secondsLeft = Math.ceil((elapsedMs * (1 - done)) / done / 1000)
  return { rows, bytes, bytesTotal, rowsPerSecond, secondsLeft }
}

export function renderBar(bytes: number, bytesTotal: number): string {
  const full = Math.floor(BAR_CELLS * share(bytes, bytesTotal))
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_CELLS - full)}]`
}

/** One line: share done, rows, megabytes, rows per second, estimated time left. */
export function renderProgress(state: ProgressState): string {
  const { rows, bytes, bytesTotal, rowsPerSecond, secondsLeft } = progressOf(state)
  const counts = `${renderCount(rows)} rows`
  const pace = `${renderCount(rowsPerSecond)} rows/s`
  if (bytesTotal === undefined) return [counts, `${renderMegabytes(bytes)} MB`, pace].join('  ')
  return [
    `${Math.floor(share(bytes, bytesTotal) * 100)} %`,
    counts,
    `${renderMegabytes(bytes)} of ${renderMegabytes(bytesTotal)} MB`,
    pace,
    `${secondsLeft === undefined ? '?' : renderDuration(secondsLeft)} left`,
  ].join('  ')
}

export function renderCount(count: number): string {
  return count.toLocaleString('en-US')
}

function renderMegabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}

function renderDuration(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

/** The share done, at most 1. It may be too low, because separators between rows are not counted. */
function share(bytes: number, bytesTotal: number): number {
  return bytesTotal > 0 ? Math.min(1, bytes / bytesTotal) : 1
}
