// The place of a fleet's data, its options, and what remains after its end.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openStore, type Store, type StoreOptions } from '../../../src/index.js'
import type { Clock } from '../../../src/ports.js'
import { joinedMaintenance } from '../../support/maintenance.js'
import { findS3Server } from '../../support/s3-server.js'
import type { Seeded } from '../../support/seeded.js'
import { findLeaksIn, type Place, sharedRemains } from '../crash/leaks.js'
import type { Ledger } from '../crash/ledger.js'
import { SMALL_SIZES } from '../crash/writer-job.js'
import type { Fleet } from './fleet.js'
import { ADMIN_KEY, type FleetPlace, type ObjectsPlace, openFleetPorts } from './fleet-job.js'

export type FleetTimes = Readonly<{ leaseMs: number; graceMs: number; maintainMs: number }>

/** How much longer than the leases it may take on a busy machine. */
const SLACK_MS = 60_000

/**
 * Recompressions run whenever garbage is collected, on each runtime: rows are stored uncompressed, and deflated later.
 */
export function fleetOptions({ leaseMs, graceMs, maintainMs }: FleetTimes): StoreOptions {
  return {
    ...SMALL_SIZES,
    compression: 'none',
    jobLeaseMs: leaseMs,
    orphanGraceMs: graceMs,
    maintenance: joinedMaintenance(SMALL_SIZES.maintenance, {
      garbageCollectionIntervalMs: maintainMs,
      compactionIntervalMs: maintainMs,
      recompressionIntervalMs: maintainMs,
      fileCollectionIntervalMs: 10 * maintainMs,
    }),
    idempotencyKeysMax: 1_000_000,
    uploadsOpenMax: 10_000, // A cut-off request may have left one open.
  }
}

/** The bucket that the environment names, as for the tests of S3; otherwise a folder. */
export async function objectsPlace(folder: string, seed: number): Promise<ObjectsPlace> {
  const server = findS3Server()
  if (typeof server === 'string') {
    const objects = join(folder, 'objects')
    await mkdir(objects)
    return { folder: objects }
  }
  return { ...server, keyPrefix: `fleet-${seed}-${Date.now()}/` }
}

/** The objects that nothing names, according to a verification. */
async function orphansAt(url: string, wrong: string[]): Promise<number> {
  const headers = { authorization: `Bearer ${ADMIN_KEY}` }
  const response = await fetch(`${url}/admin/verify`, { method: 'POST', headers })
  const lines = (await response.text()).split('\n').filter((line) => line.trim() !== '')
  const found = lines.map((line) => (JSON.parse(line) as VerifyLine).finding)
  const findings = found.filter((finding) => finding !== undefined)
  for (const { severity, kind, message } of findings) {
    if (severity === 'damage') wrong.push(`verify of a server: ${kind}: ${message}`)
  }
  return findings.filter(({ kind }) => kind === 'orphan-object').length
}

type VerifyLine = Readonly<{
  finding?: Readonly<{ severity: string; kind: string; message: string }>
}>

/** Waits until the servers have deleted what nothing names. @returns how many there were, and how long it took */
export async function awaitNoOrphans(
  fleet: Fleet,
  random: Seeded,
  wrong: string[],
  { leaseMs, graceMs, maintainMs }: FleetTimes,
) {
  const msMax = leaseMs + graceMs + 4 * maintainMs + SLACK_MS
  const startedAt = performance.now()
  const first = await orphansAt(await fleet.url(random), wrong)
  for (let left = first; ; ) {
    const ms = performance.now() - startedAt
    if (left === 0) return { orphans: first, goneAfterMs: Math.round(ms) }
    if (ms > msMax) {
      wrong.push(`${left} objects without a name are there after ${Math.round(ms)} ms`)
      return { orphans: first, left }
    }
    await pause(maintainMs / 2)
    left = await orphansAt(await fleet.url(random), wrong)
  }
}

/** Opens the store as the servers did, without background work. The ports close with it. */
export async function openAgain(place: FleetPlace, clock?: Clock): Promise<Store> {
  const { kv, objects } = await openFleetPorts(place)
  const turned = clock && { clock, clockSkewMs: Number.MAX_SAFE_INTEGER }
  return openStore({ ...SMALL_SIZES, ...turned, kv, objects })
}

/** Empties the store, and checks what remains. */
export function findLeaksOf(place: FleetPlace, ledger: Ledger): Promise<string[]> {
  const data: Place = {
    open: (clock) => openAgain(place, clock),
    remains: () =>
      sharedRemains(
        () => openFleetPorts(place),
        () => openAgain(place),
      ),
  }
  return findLeaksIn(data, ledger)
}
