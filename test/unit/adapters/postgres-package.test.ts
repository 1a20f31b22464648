// Goal: `rowstash/postgres` loads without the package `pg`, and says what to install when it is needed.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../../support/project.js'
import { withoutPackage } from '../../support/without-package.js'

/** Prints the outcome of each call. */
const PROGRAM = `
import { openPostgresKv, raiseVersionBase } from './postgres.mjs'
const options = { urls: ['postgres://u@127.0.0.1:1/d'] }
for (const call of [() => openPostgresKv({ urls: [] }), () => openPostgresKv(options), () => raiseVersionBase(options)]) {
  await call().catch(({ code, outcome, message }) => console.log(JSON.stringify([code, outcome, message])))
}
`

test('without the package pg the entry loads, and a call fails at once with what to install', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-entry-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await build({
    entryPoints: [join(ROOT, 'adapters/postgres.ts')],
    outfile: join(folder, 'postgres.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    external: ['pg'],
    logLevel: 'silent',
  })
  await writeFile(join(folder, 'program.mjs'), PROGRAM)
  const run = promisify(execFile)(process.execPath, ['program.mjs'], {
    cwd: folder,
    env: { ...process.env, ...withoutPackage('pg') },
  })
  const calls = (await run).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

  const missing = [
    'STORAGE_UNAVAILABLE',
    'unchanged',
    'Records in PostgreSQL need the package pg, which cannot be loaded: npm install pg',
  ]
  expect(calls).toEqual([
    ['OPTION_NOT_ALLOWED', null, 'Option "urls" must be an array of 1 to 16 URLs'],
    missing,
    missing,
  ])
})
