// Verifies a whole open store against its own rules, while it is in use.
//
// Invariants:
// - Nothing is changed and no operation is delayed: each view shows one commit.
// - Every finding was true at some moment of the verification; see verify-rows and verify-extents.
// - A failed read ends only its own step, so that a damaged record does not hide other damage.

import { type Bytes, fromUtf8, sameBytes, toHex } from '../../base/bytes.js'
import {
  booleanOption,
  checkFunctionOption,
  checkOptionNames,
  checkSignalOption,
} from '../../base/options.js'
import { decodeApiKey } from '../../format/api-key-records.js'
import { decodeDutyLease } from '../../format/duty-records.js'
import { decodeAlias, decodeSigningKeys, decodeTeamAlias } from '../../format/file-records.js'
import { decodeJob, decodeLease, decodeResult } from '../../format/job-records.js'
import {
  ALIASES_RANGE,
  API_KEYS_RANGE,
  aliasKey,
  CODECS_KEY,
  DUTIES_RANGE,
  IDEMPOTENCY_RANGE,
  JOBS_RANGE,
  type JobKey,
  jobLeaseKey,
  jobOfKey,
  jobResultKey,
  SIGNING_KEYS_KEY,
  TEAM_ALIASES_RANGE,
  tableHeadKey,
  teamAliasKey,
  WRITERS_RANGE,
} from '../../format/keys.js'
import { openRecord } from '../../format/record-frame.js'
import { decodeCodecs, decodeIdempotencyRecord, decodeTableHead } from '../../format/records.js'
import {
  DUE_TEAMS_RANGE,
  decodeDueTeam,
  decodeHint,
  decodeHintKey,
  decodeLastScan,
  WORK_HINTS_RANGE,
} from '../../format/work-records.js'
import type { KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ObjectId } from '../../objects/objects.js'
import { namedObjects, objectOf } from '../context/named-objects.js'
import { readIncarnations, readInUse } from '../context/other-incarnations.js'
import type { StoreContext } from '../context/store-context.js'
import { readTeams } from '../context/team-entries.js'
import type { VerifyOptions, VerifyReport } from '../types/verify-types.js'
import type { VerifyContext } from './verify-extents.js'
import { verifyFiles } from './verify-files.js'
import { Findings } from './verify-findings.js'
import { verifyHistory } from './verify-history.js'
import { verifyLogs } from './verify-log.js'
import { verifyStashes } from './verify-stashes.js'
import { verifyTables } from './verify-tables.js'

/** @throws {StoreError} OPTION_NOT_ALLOWED, ABORTED, STORE_CLOSED */
export async function verifyStore(
  context: StoreContext,
  options: VerifyOptions,
): Promise<VerifyReport> {
  checkVerifyOptions(options)
  const findings = new Findings(options, context.lifecycle)
  const system = context.kv.partition('')
  const teams = (await findings.step({}, () => system.read(readTeams))) ?? []
  const partitions = await verifyKv(context, findings)
  // The teams are read again, because a team may have been added meanwhile. It is entered before its first record.
  const known = new Set([
    ...teams,
    ...((await findings.step({}, () => system.read(readTeams))) ?? []),
  ])
  for (const partition of partitions) {
    if (partition === '' || known.has(partition)) continue
    const message = 'The team has records, but no entry'
    findings.add({ kind: 'record-missing', message }, { team: partition })
  }
  await findings.step({}, () => system.read((view) => verifySystem(findings, view, known)))
  for (const teamId of teams) await verifyTeam(context, findings, teamId)
  await findings.step({}, () =>
    verifyOrphans(context, findings, async () => {
      return (await system.read(readTeams)).map((teamId) => context.kv.partition(teamId))
    }),
  )
  await findings.step({}, () => system.read((view) => verifyCodecs(findings, view)))
  return findings.report()
}

function checkVerifyOptions(options: VerifyOptions): void {
  checkOptionNames('verify', options, (name) => {
    return ['full', 'signal', 'onFinding', 'onProgress'].includes(name)
  })
  const { full, signal, onFinding, onProgress } = options
  checkSignalOption(signal)
  booleanOption('full', full, false)
  checkFunctionOption('onFinding', onFinding)
  checkFunctionOption('onProgress', onProgress)
}

/** Runs the key-value store's own check. @returns the partitions that the key-value store holds */
async function verifyKv({ kv }: StoreContext, findings: Findings): Promise<readonly string[]> {
  const partitions: string[] = []
  await findings.step({}, async () => {
    for await (const item of kv.check?.(findings.full) ?? []) {
      findings.checkGoesOn()
      if (item.kind === 'partition') partitions.push(item.partition)
      else findings.add({ kind: item.kind, message: item.message }, {})
    }
  })
  return partitions
}

/** Checks the records of the system partition, among others that each alias has both records. */
async function verifySystem(
  findings: Findings,
  view: KvView,
  teams: ReadonlySet<string>,
): Promise<void> {
  const lacks = (team: string): void => {
    const message = 'The alias is recorded in one direction only'
    findings.add({ kind: 'record-mismatch', message }, { team })
  }
  for await (const entries of scanBatches(view, ALIASES_RANGE)) {
    for (const [key, record] of entries) {
      const team = decodeAlias(record)
      const back = await view.get(teamAliasKey(team))
      if (back === null || !sameBytes(decodeTeamAlias(back), key.subarray(1))) lacks(team)
    }
  }
  for await (const entries of scanBatches(view, TEAM_ALIASES_RANGE)) {
    for (const [key, record] of entries) {
      const team = fromUtf8(key.subarray(1))
      const back = await view.get(aliasKey(decodeTeamAlias(record)))
      if (back === null || decodeAlias(back) !== team) lacks(team)
      if (teams.has(team)) continue
      findings.add({ kind: 'record-missing', message: 'The team has no entry' }, { team })
    }
  }
  const keys = await view.get(SIGNING_KEYS_KEY)
  if (keys !== null) decodeSigningKeys(keys)
  for await (const entries of scanBatches(view, API_KEYS_RANGE)) {
    for (const [, record] of entries) decodeApiKey(record)
  }
  await readIncarnations(view)
  await verifyDuties(view)
  for await (const entries of scanBatches(view, DUE_TEAMS_RANGE)) {
    for (const [, record] of entries) decodeDueTeam(record)
  }
}

/**
 * Checks that the codecs record names every codec that was seen in frames. The record is read after the frames, because
 * codecs may be added to it meanwhile, but never removed.
 */
async function verifyCodecs(findings: Findings, view: KvView): Promise<void> {
  const record = await view.get(CODECS_KEY)
  if (record === null || (decodeCodecs(record) & findings.codecs) === findings.codecs) return
  const message = 'A segment has frames of a codec that the codecs record does not name'
  findings.add({ kind: 'record-mismatch', message }, {})
}

async function verifyTeam(
  context: StoreContext,
  findings: Findings,
  teamId: string,
): Promise<void> {
  const partition = context.kv.partition(teamId)
  const verifying: VerifyContext = { context, findings, teamId, partition }
  findings.counts.teams++
  await verifyTables(verifying)
  await verifyStashes(verifying)
  await findings.step({ team: teamId }, () => verifyRepeats(findings, partition, teamId))
  await findings.step({ team: teamId }, () => verifyJobs(findings, partition, teamId))
  await findings.step({ team: teamId }, () => verifyLogs(findings, partition, teamId))
  await findings.step({ team: teamId }, () => verifyHistory(findings, partition, teamId))
  await findings.step({ team: teamId }, () => partition.read(verifyWriters))
  await findings.step({ team: teamId }, () => partition.read(verifyDuties))
  const alias = await findings.step({ team: teamId }, () => readAlias(context, teamId))
  await verifyFiles(verifying, alias)
}

function readAlias({ kv }: StoreContext, teamId: string): Promise<Bytes | null> {
  return kv.partition('').read(async (view) => {
    const record = await view.get(teamAliasKey(teamId))
    return record === null ? null : decodeTeamAlias(record)
  })
}

/** @throws {StoreError} DATA_CORRUPT */
async function verifyWriters(view: KvView): Promise<void> {
  for await (const entries of scanBatches(view, WRITERS_RANGE)) {
    for (const [, record] of entries) openRecord(record, 'writer').end()
  }
}

/** @throws {StoreError} DATA_CORRUPT */
async function verifyDuties(view: KvView): Promise<void> {
  for await (const entries of scanBatches(view, DUTIES_RANGE)) {
    for (const [, record] of entries) decodeDutyLease(record)
  }
  for await (const entries of scanBatches(view, WORK_HINTS_RANGE)) {
    for (const [key, record] of entries) {
      if (decodeHintKey(key) === null) decodeLastScan(record)
      else decodeHint(record)
    }
  }
}

/** Checks that each idempotency record has a version that its table has reached, unless the table was deleted. */
async function verifyRepeats(
  findings: Findings,
  partition: KvPartition,
  team: string,
): Promise<void> {
  await partition.read(async (view) => {
    for await (const entries of scanBatches(view, IDEMPOTENCY_RANGE)) {
      findings.checkGoesOn()
      for (const [, record] of entries) {
        const { table, version } = decodeIdempotencyRecord(record)
        const head = await view.get(tableHeadKey(table))
        if (head === null || decodeTableHead(head).version >= version) continue
        const message = `A stored result has version ${version} of table ${toHex(table)}, which the table has not reached`
        findings.add({ kind: 'record-mismatch', message }, { team })
      }
    }
  })
}

/** Checks that an open job has a lease, and a succeeded job its whole result. */
async function verifyJobs(findings: Findings, partition: KvPartition, team: string): Promise<void> {
  await partition.read(async (view) => {
    for await (const entries of scanBatches(view, JOBS_RANGE)) {
      findings.checkGoesOn()
      for (const [key, bytes] of entries) {
        const job = jobOfKey(key)
        const missing = job === null ? null : await missingPart(view, job, bytes)
        if (job === null || missing === null) continue
        const message = `Job ${toHex(job)} is missing ${missing}`
        findings.add({ kind: 'record-missing', message }, { team })
      }
    }
  })
}

/** @throws {StoreError} DATA_CORRUPT */
async function missingPart(view: KvView, job: JobKey, bytes: Uint8Array): Promise<string | null> {
  const { state } = decodeJob(bytes)
  if (state.name === 'running') {
    const lease = await view.get(jobLeaseKey(job))
    if (lease !== null) decodeLease(lease)
    return lease === null ? 'its lease' : null
  }
  if (state.name === 'failed') return null
  for (let i = 0; i < state.parts; i++) {
    const part = await view.get(jobResultKey(job, i))
    if (part === null) return `part ${i} of its result`
    decodeResult(part)
  }
  return null
}

/** Maximum number of objects of one window. Each object takes about 100 bytes of memory. */
const WINDOW_MAX = 100_000

/**
 * Finds the objects that no record names. They are harmless: garbage collection deletes them later.
 *
 * Objects are listed in windows, and a walk over all names removes the named objects from a window. So the window
 * bounds the memory. An object that was listed before the walk, and that the walk did not find named, is an orphan or
 * pending.
 */
async function verifyOrphans(
  context: StoreContext,
  findings: Findings,
  partitions: () => Promise<readonly KvPartition[]>,
): Promise<void> {
  const { objects } = context
  let after: ObjectId | undefined
  for (;;) {
    const unnamed = new Set<ObjectId>()
    let isDone = false
    while (unnamed.size < WINDOW_MAX && !isDone) {
      findings.checkGoesOn()
      const listed = await objects.list('', after)
      for (const id of listed) unnamed.add(id)
      after = listed[listed.length - 1] ?? after
      isDone = listed.length === 0
    }
    // An object stops being pending when a record names it, so pending objects are read before the names.
    const { isPending } = await readInUse(context)
    for (const id of [...unnamed]) if (isPending(id)) unnamed.delete(id)
    for (const partition of unnamed.size === 0 ? [] : await partitions()) {
      await partition.read(async (view) => {
        for await (const named of namedObjects(view)) {
          findings.checkGoesOn()
          unnamed.delete(objectOf(named))
        }
      })
    }
    for (const object of unnamed) {
      findings.add(
        { kind: 'orphan-object', message: `No record names object ${object}` },
        { object },
      )
    }
    if (isDone) return
  }
}
