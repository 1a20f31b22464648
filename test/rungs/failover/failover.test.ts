// Goal: when the primary of PostgreSQL fails under load and its synchronous standby takes over, nothing acknowledged is
// lost, duplicated or out of order, and each unknown outcome is resolved or reported.
// Method: two stores append to the same chains of records and add rows, through proxies whose connections are cut every
// 0.7 seconds. All processes of the primary are killed, the standby is promoted, and the old primary follows it; so
// each failover goes the other way. At the end the journal of acknowledged operations is compared with the content.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openPostgresKv } from '../../../adapters/postgres.js'
import { memoryObjects, openStore } from '../../../src/index.js'
import type { KvStore } from '../../../src/ports.js'
import { openCutProxy } from '../../support/cut-proxy.js'
import { report, reportSkip, sizeOf, suiteSeed } from '../../support/ladder.js'
import {
  findPrograms,
  type PostgresCluster,
  type PostgresNode,
  startCluster,
} from '../../support/postgres-cluster.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { cutOften } from './cuts.js'
import { CHAINS, Journal, type Pace } from './journal.js'

const SUITE = 'T19 failover of PostgreSQL'
/** Load before each kill, in milliseconds. A random time of up to the same length is added. */
const LOAD_MS = 1_500
const MINUTE_MS = 60_000

const programs = findPrograms()
const times = sizeOf({ push: 3, deep: 20 })

if (typeof programs === 'string') {
  reportSkip(SUITE, programs)
  test.skip(`PostgreSQL with a standby: ${programs}`, () => undefined)
} else {
  test(
    `${times} failovers lose nothing that was acknowledged`,
    async () => {
      const seed = suiteSeed()
      const startedAt = performance.now()
      const cluster = await startCluster(programs, { isDurable: true })
      const journal = new Journal()
      try {
        await withLoad(cluster, journal, () => failOver(cluster, seeded(seed), journal.pace))
      } finally {
        await cluster.stop()
      }
      const { longestMs, longestGapMs } = journal.pace
      console.log(`PostgreSQL ${cluster.version}: ${journal.summary()}`)
      console.log(
        `longest request ${longestMs.toFixed(0)} ms, longest time in which none was acknowledged ${longestGapMs.toFixed(0)} ms`,
      )
      const seconds = (performance.now() - startedAt) / 1_000
      const violations = journal.violations.length
      report({ suite: SUITE, seed, runs: times, seconds, violations })
      expect(journal.violations).toEqual([])
    },
    MINUTE_MS + times * MINUTE_MS,
  )
}

/** Writers work while `fail` runs, and everything is checked afterwards. */
async function withLoad(
  { primary, standby }: PostgresCluster,
  journal: Journal,
  fail: () => Promise<void>,
): Promise<void> {
  const proxies = [await openCutProxy(primary.socket), await openCutProxy(standby.socket)]
  const urls = proxies.map(({ port }) => `postgres://rowstash@127.0.0.1:${port}/postgres`)
  const options = {
    urls,
    viewConnectionsMax: 5,
    commitConnectionsMax: 5,
    onWarning: () => undefined,
  }
  const [first, second] = [await openPostgresKv(options), await openPostgresKv(options)]
  const store = await openStore({ kv: first, objects: memoryObjects() })
  const team = store.team('team')
  const { tableId } = await team.createTable({
    name: 'Operations',
    schema: { columns: [{ id: 'op', type: 'string' }] },
    rows: [],
  })
  const table = team.table(tableId)

  let over = false
  const isOver = (): boolean => over
  const partitionOf = (kv: KvStore) => kv.partition('journal')
  const writers = Array.from({ length: CHAINS }, (_, chain) =>
    [first, second].map((kv, which) =>
      journal.append(partitionOf(kv), { writer: `w${chain}${which}`, chain }, isOver),
    ),
  ).flat()
  writers.push(journal.add(table, 'a', isOver), journal.add(table, 'b', isOver))
  const endCuts = cutOften(proxies)
  try {
    const failing = fail()
    failing.catch(() => undefined)
    await Promise.race([failing, ...writers]) // A writer ends early only if it fails.
  } finally {
    endCuts()
    over = true
    await Promise.allSettled(writers)
  }
  await Promise.all(writers)
  await journal.check(partitionOf(second), table)
  await store.close()
  await second.close()
  for (const proxy of proxies) await proxy.close()
}

async function failOver(cluster: PostgresCluster, random: Seeded, pace: Pace): Promise<void> {
  let [primary, standby]: [PostgresNode, PostgresNode] = [cluster.primary, cluster.standby]
  for (let time = 1; time <= times; time++) {
    await sleep(LOAD_MS + random.below(LOAD_MS))
    const loadGapMs = pace.takeGap()
    const killedAt = performance.now()
    await primary.kill()
    await standby.promote()
    const promotedMs = performance.now() - killedAt
    await sleep(LOAD_MS)
    const failGapMs = pace.takeGap()
    await primary.follow(standby)
    const gaps = [failGapMs, pace.takeGap(), loadGapMs].map((ms) => ms.toFixed(0))
    console.log(
      `failover ${time} of ${times}: promoted after ${promotedMs.toFixed(0)} ms; ` +
        `no answer for ${gaps[0]} ms, while the new standby was made for ${gaps[1]} ms, before the kill for ${gaps[2]} ms`,
    )
    ;[primary, standby] = [standby, primary]
  }
  await sleep(LOAD_MS)
}
