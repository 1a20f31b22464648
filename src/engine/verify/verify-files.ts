// Checks the files and uploads of a team: their records, their number, and the bytes that they name.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { renderFileId, renderUploadId } from '../../format/file-id.js'
import {
  decodeFile,
  decodeFileMarker,
  decodeFilesHead,
  decodeUpload,
  type StoredContent,
} from '../../format/file-records.js'
import {
  FILE_MARKERS_RANGE,
  FILES_HEAD_KEY,
  FILES_RANGE,
  type FileKey,
  fileOfKey,
  UPLOADS_RANGE,
} from '../../format/keys.js'
import { keyAfter } from '../../kv/key-range.js'
import type { KeyRange, KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { checkContent } from '../files/file-content.js'
import type { Problem, VerifyPlace } from '../types/verify-types.js'
import type { VerifyContext } from './verify-extents.js'
import { type Findings, lookForProblems } from './verify-findings.js'

const RECORDS_AT_ONCE = 1_000

/** @param alias - The alias of the team; null: the team never had a file. */
export async function verifyFiles(verifying: VerifyContext, alias: Bytes | null): Promise<void> {
  const { findings, partition, teamId: team } = verifying
  await findings.step({ team }, () =>
    partition.read((view) => verifyFileCounts(findings, view, team, alias !== null)),
  )
  if (alias === null) return
  await verifyContents(verifying, FILES_RANGE, (key, bytes) => {
    findings.counts.files++
    return { file: renderFileId({ alias, key }), content: decodeFile(bytes) }
  })
  await verifyContents(verifying, UPLOADS_RANGE, (key, bytes) => {
    findings.counts.uploads++
    const upload = decodeUpload(bytes)
    // The bytes of a completed upload are those of a file.
    const content = upload.state === 'received' ? upload.received : null
    return { file: renderUploadId({ alias, key }), content }
  })
}

/** Checks the files head and the markers, in one view. */
async function verifyFileCounts(
  findings: Findings,
  view: KvView,
  team: string,
  hasAlias: boolean,
): Promise<void> {
  let [files, bytes] = [0, 0]
  for await (const entries of scanBatches(view, FILES_RANGE)) {
    findings.checkGoesOn()
    files += entries.length
    for (const [, record] of entries) bytes += decodeFile(record).bytes
  }
  const record = await view.get(FILES_HEAD_KEY)
  const head = record === null ? { files: 0, bytes: 0 } : decodeFilesHead(record)
  if (head.files !== files || head.bytes !== bytes) {
    const message = `There are ${files} files with ${bytes} bytes; the team counts ${head.files} with ${head.bytes}`
    findings.add({ kind: 'record-mismatch', message }, { team })
  }
  if (files > 0 && !hasAlias) {
    findings.add({ kind: 'record-missing', message: 'The alias of the team is missing' }, { team })
  }
  for await (const entries of scanBatches(view, FILE_MARKERS_RANGE)) {
    for (const [, marker] of entries) decodeFileMarker(marker)
  }
}

type Named = Readonly<{ file: string; content: StoredContent | null }>

/** Checks each record of a range, then the bytes that it names. */
async function verifyContents(
  verifying: VerifyContext,
  { start: first, limit }: KeyRange,
  decode: (key: FileKey, bytes: Bytes) => Named,
): Promise<void> {
  const { findings, partition, teamId: team } = verifying
  for (let start = first; ; ) {
    const scan = { start, limit, count: RECORDS_AT_ONCE }
    const found = await findings.step({ team }, () => partition.read((view) => view.scan(scan)))
    for (const [key, bytes] of found ?? []) {
      await findings.step({ team }, async () => {
        const { file, content } = decode(fileOfKey(key), bytes)
        if (content !== null)
          await verifyContent(verifying, { key, bytes, content }, { team, file })
      })
    }
    const last = found?.[found.length - 1]?.[0]
    if (last === undefined || (found?.length ?? 0) < RECORDS_AT_ONCE) return
    start = keyAfter(last)
  }
}

/** Checks the content that a record names. The record may be deleted or replaced meanwhile; see verify-extents. */
async function verifyContent(
  { context, findings, partition }: VerifyContext,
  { key, bytes, content }: Readonly<{ key: Bytes; bytes: Bytes; content: StoredContent }>,
  where: VerifyPlace,
): Promise<void> {
  findings.counts.objects++
  const problems = await lookForProblems('file', async (): Promise<Problem[]> => {
    const read = (count: number): void => {
      findings.checkGoesOn()
      findings.counts.bytes += count
    }
    const problem = await checkContent(context.objects, content, findings.full, read)
    return problem === null ? [] : [problem]
  })
  if (problems.length === 0) return
  const now = await partition.read((view) => view.get(key))
  if (now !== null && sameBytes(now, bytes)) {
    findings.addAll(problems, { ...where, object: content.object })
  }
}
