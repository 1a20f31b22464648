// Prints results as a table and stores them as JSON.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'

export function median(values) {
  const sorted = [...values].sort((left, right) => left - right)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Prints rows of texts below their headings, in columns. */
export function printTable(headings, rows) {
  const lines = [headings, ...rows].map((cells) => cells.map(String))
  const widths = headings.map((_, at) => Math.max(...lines.map((cells) => cells[at].length)))
  const render = (cells) => cells.map((cell, at) => cell.padEnd(widths[at])).join('  ')
  console.log(`\n${render(lines[0])}`)
  console.log(widths.map((width) => '-'.repeat(width)).join('  '))
  for (const cells of lines.slice(1)) console.log(render(cells))
}

/** A rule of the form "value at most limit", and whether it holds. */
export function judge(what, value, limit, unit) {
  return { what, value, limit, unit, holds: value <= limit }
}

export function printRules(rules) {
  printTable(
    ['rule', 'measured', 'limit', 'holds'],
    rules.map(({ what, value, limit, unit, holds }) => [
      what,
      `${value.toFixed(1)} ${unit}`,
      `${limit.toFixed(1)} ${unit}`,
      holds ? 'yes' : 'NO',
    ]),
  )
}

/**
 * A file of results, written from the first round on, so that an interrupted run loses nothing. Readers of stored
 * results skip files with `partial`.
 */
export function openResults(name) {
  const folder = join(import.meta.dirname, 'results')
  mkdirSync(folder, { recursive: true })
  const stamp = new Date()
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '')
  const path = join(folder, `${name}-${stamp}.json`)
  const machine = {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
  }
  const write = (results) => {
    writeFileSync(`${path}.new`, `${JSON.stringify({ machine, ...results }, null, 2)}\n`)
    renameSync(`${path}.new`, path) // never half a file
  }
  return {
    machine,
    /** @param soFar the progress of the run, in words */
    keep: (soFar, results) => write({ partial: soFar, ...results }),
    finish: (results) => {
      write(results)
      console.log(`\nresults in ${path}`)
    },
  }
}

export function writeResults(name, results) {
  openResults(name).finish(results)
}
