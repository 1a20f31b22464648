import { describe, expect, test } from 'vitest'
import { openProgress, renderBar, renderProgress } from '../../../adapters/cli/command/progress.js'

function output(isTTY: boolean): { isTTY: boolean; text: string; write(text: string): void } {
  return {
    isTTY,
    text: '',
    write(text) {
      this.text += text
    },
  }
}

describe('progress', () => {
  test('tells rows, megabytes, pace and time left', () => {
    const line = renderProgress({
      rows: 1_500_000,
      bytes: 600e6,
      bytesTotal: 2_400e6,
      elapsedMs: 10_000,
    })

    expect(line).toBe('25 %  1,500,000 rows  600.0 of 2400.0 MB  150,000 rows/s  0:30 left')
  })

  test('knows nothing of the time left at the start', () => {
    expect(renderProgress({ rows: 0, bytes: 0, bytesTotal: 10, elapsedMs: 0 })).toContain('? left')
  })

  test('never passes the end of its bar', () => {
    expect(renderBar(20, 10)).toBe(`[${'#'.repeat(24)}]`)
    expect(renderBar(0, 0)).toBe(`[${'#'.repeat(24)}]`)
    expect(renderBar(5, 10)).toBe(`[${'#'.repeat(12)}${'.'.repeat(12)}]`)
  })

  test('draws no bar where there is no terminal, and keeps quiet in between', () => {
    const plain = output(false)
    const progress = openProgress(plain, 100)

    progress.show(1, 10)
    progress.note('trying again')
    progress.close()

    expect(plain.text).toBe('trying again\n')
  })

  test('takes its bar away at the end', () => {
    const terminal = output(true)

    openProgress(terminal, 100).close()

    expect(terminal.text).toBe('\r\u001b[2K')
  })
})
