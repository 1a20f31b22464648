import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import { openMemory } from '../../src/index.js'
import { sampleOf } from '../support/what-runs.js'
import { storeSuite } from './store-suite.js'

const made: string[] = []

afterAll(async () => {
  for (const directory of made) await rm(directory, { recursive: true, force: true })
})

describe('a store in memory', () => {
  for (const { name, run } of storeSuite(openMemory)) test(name, run)
})

describe('a store in a directory', () => {
  const suite = storeSuite(async (options) => {
    const directory = await mkdtemp(join(tmpdir(), 'rowstash-store-'))
    made.push(directory)
    return openDirectory(join(directory, 'store'), options)
  })
  for (const { name, run } of sampleOf(suite)) test(name, run)
})
