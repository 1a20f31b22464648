// Goal: every database that a store may use is a complete abstract-level database.
// Method: abstract-level's own suite on each. (kv-suite, which ports.test runs on each too, has what the store needs
// beyond it, such as atomic batches and views.)
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AbstractLevel } from 'abstract-level'
import { ClassicLevel } from 'classic-level'
import { MemoryLevel } from 'memory-level'
import { afterAll, describe, expect, test } from 'vitest'
import { report } from '../support/ladder.js'
import { type TapeFunction, tapeOnVitest } from './tape-adapter.js'

type Database = AbstractLevel<unknown, unknown, unknown>
type Factory = (options?: object) => Database

const runAbstractSuite = createRequire(import.meta.url)('abstract-level/test') as (
  options: Readonly<{ test: TapeFunction; factory: Factory }>,
) => void

/** The suite makes 5,120 assertions on memory-level. A run with far fewer was cut short. */
const ASSERTIONS_MIN = 5_000

// Created here, because the suite creates databases while it lists its tests.
const folder = mkdtempSync(join(tmpdir(), 'rowstash-backend-'))
let databases = 0

afterAll(async () => {
  await rm(folder, { recursive: true })
})

const BACKENDS: readonly Readonly<{ name: string; factory: Factory }>[] = [
  {
    name: 'memory-level',
    factory: (options) => new MemoryLevel<unknown, unknown>(options) as Database,
  },
  {
    name: 'classic-level',
    factory: (options) => new ClassicLevel<unknown, unknown>(newPlace(), options) as Database,
  },
]

function newPlace(): string {
  databases++
  return join(folder, String(databases))
}

describe.each(BACKENDS)('$name', ({ name, factory }) => {
  let assertions = 0
  let failed = 0
  const startedAt = performance.now()

  runAbstractSuite({
    factory,
    test: tapeOnVitest({
      onPass(count) {
        assertions += count
      },
      onFail() {
        failed++
      },
    }),
  })

  test('the suite was run to its end', () => {
    const seconds = (performance.now() - startedAt) / 1_000
    report({ suite: `T1 backend, ${name}`, seed: 0, runs: assertions, seconds, violations: failed })

    expect(assertions).toBeGreaterThan(ASSERTIONS_MIN)
  })
})
