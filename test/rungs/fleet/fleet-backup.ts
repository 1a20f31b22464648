// A backup taken from a server while the clients work, and its possible content by the journal.
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { restoreDirectory } from '../../../adapters/directory/restore-directory.js'
import { openDirectory } from '../../../adapters/open-directory.js'
import type { Team } from '../../../src/index.js'
import { RESTORED_VERSION_STEP } from '../../../src/kv/version-base.js'
import type { Seeded } from '../../support/seeded.js'
import { differenceOf, readTable } from '../crash/audit.js'
import { TEAM } from '../crash/lane.js'
import type { Ledger, TableState } from '../crash/ledger.js'
import { COUNTER_TABLE, SHARED_TABLE } from '../crash/log-lines.js'
import { SMALL_SIZES } from '../crash/writer-job.js'
import type { Clients } from './clients.js'
import type { Fleet } from './fleet.js'
import { ADMIN_KEY } from './fleet-job.js'

const TRIES_MAX = 20

export class FleetBackup {
  readonly #path: string
  /** By table: its states from the beginning of the backup to its end, by version. */
  readonly #states = new Map<string, Map<number, TableState[]>>()
  /** The acknowledged adds when the backup began. */
  #shares = 0
  #counted = 0
  #tables: readonly string[] = []
  tries = 0
  ms = 0

  constructor(path: string) {
    this.#path = path
  }

  /** Takes a backup. A server killed meanwhile gives none. */
  async take(fleet: Fleet, clients: Clients, random: Seeded): Promise<void> {
    const { ledger } = clients
    while (this.tries++ < TRIES_MAX) {
      this.#begin(ledger)
      clients.onLine = () => this.#note(ledger)
      const startedAt = performance.now()
      try {
        await this.#fetch(await fleet.url(random))
        this.ms = performance.now() - startedAt
        await clients.settle() // The backup may contain changes that nobody was told of yet.
        return
      } catch {
        await pause(100) // Its server was killed.
      } finally {
        clients.onLine = () => undefined
      }
    }
    throw new Error(`No backup in ${TRIES_MAX} tries`)
  }

  async #fetch(url: string): Promise<void> {
    const headers = { authorization: `Bearer ${ADMIN_KEY}` }
    const { ok, body } = await fetch(`${url}/admin/backup?files=include`, {
      method: 'POST',
      headers,
    })
    if (!ok || body === null) throw new Error('The server gives no backup')
    await writeFile(this.#path, body)
  }

  #begin(ledger: Ledger): void {
    this.#states.clear()
    this.#shares = ledger.doneShares.size
    this.#counted = Math.max(0, ...ledger.counted)
    this.#tables = [...ledger.tables]
      .filter(([, [one]]) => (one?.version ?? 0) > 0)
      .map(([name]) => name)
    this.#note(ledger)
  }

  #note(ledger: Ledger): void {
    for (const [name, states] of ledger.tables) {
      const known = this.#states.get(name) ?? new Map<number, TableState[]>()
      this.#states.set(name, known)
      for (const state of states) {
        const same = known.get(state.version) ?? []
        if (!same.includes(state)) known.set(state.version, [...same, state])
      }
    }
  }

  /**
   * Restores into a new directory, which verifies it, and compares. @param shares - All adds to the shared table, in
   * order.
   */
  async check(directory: string, shares: readonly string[]): Promise<string[]> {
    await restoreDirectory(directory, createReadStream(this.#path))
    const store = await openDirectory(directory, SMALL_SIZES)
    try {
      return await this.#compare(store.team(TEAM), shares)
    } finally {
      await store.close()
    }
  }

  async #compare(team: Team, shares: readonly string[]): Promise<string[]> {
    const wrong: string[] = []
    const entries = await team.tables()
    const names = new Set(entries.map(({ name }) => name))
    for (const name of this.#tables) if (!names.has(name)) wrong.push(`the backup lacks ${name}`)
    for (const { id, name } of entries) {
      const found = await readTable(team, id, `${name} of the backup`, wrong)
      const version = found.version - RESTORED_VERSION_STEP
      if (name === SHARED_TABLE) this.#checkShares(found, version, shares, wrong)
      else if (name === COUNTER_TABLE) {
        const isRight = found.rows[0]?.n === version - 1 && version > this.#counted
        if (!isRight) wrong.push(`the counter of the backup is ${JSON.stringify(found)}`)
      } else {
        const states = this.#states.get(name)?.get(version) ?? []
        const differences = states.map(({ rows }) => differenceOf(found.rows, rows))
        if (differences.includes(null)) continue
        wrong.push(`${name} of the backup, version ${version}: ${differences.join(' or ')}`)
      }
    }
    return wrong
  }

  #checkShares(
    { rows }: TableState,
    version: number,
    shares: readonly string[],
    wrong: string[],
  ): void {
    const tags = new Set(rows.map(({ k }) => k.split('.')[0] ?? ''))
    const isPrefix = [...tags].every((tag, index) => shares[index] === tag)
    if (!isPrefix || version !== tags.size + 1) {
      wrong.push(`the shared table of the backup has ${tags.size} adds at version ${version}`)
    }
    if (tags.size < this.#shares) {
      wrong.push(
        `the backup has ${tags.size} adds, and ${this.#shares} were acknowledged before it`,
      )
    }
  }
}
