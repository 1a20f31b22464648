// Shows the progress of an import: a bar on a terminal, otherwise a line from time to time.

const BAR_CELLS = 24
const REDRAW_MS = 100
const LINE_MS = 5_000

/** Back to the first column, and clear the line (ECMA-48). */
const CLEAR_LINE = '\r\u001b[2K'

export type ProgressState = Readonly<{
  rows: number
  bytes: number
  bytesTotal: number
  elapsedMs: number
}>

export interface Progress {
  add(rows: number, bytes: number): void
  /** Writes a line that stays, without breaking the bar. */
  note(line: string): void
  /** Takes the bar away. */
  close(): void
}

/** The part of a stream that is needed here: `process.stderr` is one. */
export type ProgressOutput = Readonly<{ isTTY?: boolean; write(text: string): unknown }>

export function openProgress(output: ProgressOutput, bytesTotal: number): Progress {
  const isTerminal = output.isTTY === true
  const startMs = performance.now()
  let shownMs = startMs
  let rows = 0
  let bytes = 0

  function show(): void {
    shownMs = performance.now()
    const line = renderProgress({ rows, bytes, bytesTotal, elapsedMs: shownMs - startMs })
    if (isTerminal) output.write(`${CLEAR_LINE}${renderBar(bytes, bytesTotal)} ${line}`)
    else output.write(`${line}\n`)
  }

  return {
    add(moreRows, moreBytes) {
      rows += moreRows
      bytes += moreBytes
      if (performance.now() - shownMs >= (isTerminal ? REDRAW_MS : LINE_MS)) show()
    },
    note(line) {
      output.write(isTerminal ? `${CLEAR_LINE}${line}\n` : `${line}\n`)
    },
    close() {
      if (isTerminal) output.write(CLEAR_LINE)
    },
  }
}

export function renderBar(bytes: number, bytesTotal: number): string {
  const full = Math.floor(BAR_CELLS * share(bytes, bytesTotal))
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_CELLS - full)}]`
}

/** One line: share done, rows, megabytes, rows a second, time left at the pace so far. */
export function renderProgress({ rows, bytes, bytesTotal, elapsedMs }: ProgressState): string {
  const done = share(bytes, bytesTotal)
  const rowsPerSecond = elapsedMs > 0 ? Math.round((rows * 1000) / elapsedMs) : 0
  const leftMs = done > 0 ? (elapsedMs * (1 - done)) / done : undefined
  return [
    `${Math.floor(done * 100)} %`,
    `${renderCount(rows)} rows`,
    `${renderMegabytes(bytes)} of ${renderMegabytes(bytesTotal)} MB`,
    `${renderCount(rowsPerSecond)} rows/s`,
    `${leftMs === undefined ? '?' : renderDuration(leftMs)} left`,
  ].join('  ')
}

export function renderCount(count: number): string {
  return count.toLocaleString('en-US')
}

function renderMegabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}

function renderDuration(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

/** Separators between rows are not counted as done, so the share is cut, never above 1. */
function share(bytes: number, bytesTotal: number): number {
  return bytesTotal > 0 ? Math.min(1, bytes / bytesTotal) : 1
}
