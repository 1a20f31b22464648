// Goal: `rowstash recover` raises the version base of a store in PostgreSQL, and only on request.
import { describe, expect, test } from 'vitest'
import { openPostgresKv } from '../../adapters/postgres.js'
import { RESTORED_VERSION_STEP } from '../../src/kv/version-base.js'
import { runCli } from '../support/built-cli.js'
import { cliOnPostgres } from '../support/cli-on-postgres.js'

const { cli, url, missing } = await cliOnPostgres()

const run = (...args: string[]) => runCli(cli.path, ['recover', ...args])

async function versionBase(): Promise<number | undefined> {
  const kv = await openPostgresKv({ urls: [url], onWarning: () => undefined })
  await kv.close()
  return kv.versionBase
}

test('without a database it is a usage error', async () => {
  expect(await run('--yes')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'rowstash: Specify the database with --postgres; see rowstash recover --help\n',
  })
  const odd = await run('--postgres', 'http://localhost')
  expect([odd.code, odd.stderr]).toEqual([
    2,
    expect.stringMatching(/^rowstash: --postgres must be a URL of the form postgres:/),
  ])
})

describe.skipIf(missing !== undefined)(`on PostgreSQL${missing ? `, but ${missing}` : ''}`, () => {
  test('it refuses where there is no store, and without --yes', async () => {
    const lost = await run('--postgres', url, '--schema', 'other', '--yes')
    expect([lost.code, lost.stdout]).toEqual([1, ''])
    expect(lost.stderr).toMatch(/^rowstash: There is no store in the schema "other": check/)

    expect(await versionBase()).toBe(0)
    expect(await run('--postgres', url)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'rowstash: The version base is 0, and nothing was changed. Add --yes to raise it\n',
    })
    expect(await versionBase()).toBe(0)
  })

  test('it raises the version base each time, on the server that takes writes', async () => {
    const urls = ['--postgres', 'postgres://u@127.0.0.1:1/d', '--postgres', url, '--yes']
    const step = RESTORED_VERSION_STEP

    const first = await run(...urls)
    const second = await run(...urls)

    const stderr = expect.stringContaining('earlier stashes cannot be used')
    expect([first, second]).toEqual([
      { code: 0, stdout: `raised the version base from 0 to ${step}\n`, stderr },
      { code: 0, stdout: `raised the version base from ${step} to ${2 * step}\n`, stderr },
    ])
    expect(await versionBase()).toBe(2 * step)
    const env = { ROWSTASH_POSTGRES: url }
    const third = await runCli(cli.path, ['recover'], env)
    expect(third.stderr).toContain(`The version base is ${2 * step}, and nothing was changed`)
  })
})
