import { parseArgs } from 'node:util'
import type { VerifyFinding, VerifyReport } from '../../../src/index.js'
import { isStoreError } from '../../../src/index.js'
import { type CommandIo, EXIT_CODE } from '../command/command.js'
import {
  type CommandSpec,
  DIR_OPTION,
  type OptionSpecs,
  withDirectory,
} from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { verifyServed } from '../stores/admin-client.js'
import { PLACE_ENVIRONMENT, PLACE_OPTIONS, parsePostgresPlace } from '../stores/postgres-place.js'
import { openStoreOrServer, type StoreOrServer } from '../stores/store-place.js'

const OPTIONS = {
  full: {
    type: 'boolean',
    default: false,
    help: 'also read every row, every record and every byte of every file',
  },
  json: {
    type: 'boolean',
    default: false,
    help: 'print each finding as a line of JSON, and a summary as the last line',
  },
  verbose: {
    type: 'boolean',
    default: false,
    help: 'also list the orphans; without it they are only counted',
  },
  ...DIR_OPTION,
  ...PLACE_OPTIONS,
} as const satisfies OptionSpecs

export const VERIFY_COMMAND: CommandSpec = {
  name: 'verify',
  summary: 'find damage in a store',
  usage: ['verify DIR [--full] [--json] [--verbose]', 'verify --postgres URL [--s3 URL] [options]'],
  about: `Checks a store, even while "rowstash serve" has its directory open, and reports what is
    damaged and where. It changes nothing. Another program that has the directory open can call
    store.verify().`,
  options: OPTIONS,
  hasOperands: true,
  notes: `An orphan is an object or a record that nothing refers to, such as
    one left by an interrupted import. It only takes up space, and the store deletes it in time. Exit code 0: nothing is damaged;
    1: something is; 2: the store cannot be opened.`,
  details: [PLACE_ENVIRONMENT],
}

/** Advice if another program has the store open. */
const VERIFY_INSTEAD =
  'call store.verify() in it, or POST /admin/verify of its handler with one of its adminKeys'

/** Runs `rowstash verify`. @returns the exit code. */
export async function runVerify(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: OPTIONS,
  })
  const [directory, ...more] = withDirectory(values.directory, positionals)
  const place =
    parsePostgresPlace(values, io.env, { isElsewhere: directory !== undefined }) ?? directory
  if (place === undefined || more.length > 0) {
    throw new ProgramFailure('usage', 'Specify the directory of one store, or --postgres')
  }
  const { full } = values
  const output = values.json ? jsonOutput(io) : textOutput(io, values.verbose)
  let opened: StoreOrServer
  try {
    opened = await openStoreOrServer(place, io, VERIFY_INSTEAD)
  } catch (failure) {
    return cannotOpen(failure, full, output, io)
  }
  const request = { full, signal: io.signal, onFinding: output.finding }
  if ('served' in opened) return endWith(await verifyServed(opened.served, request), output)
  const { store } = opened
  try {
    return endWith(await store.verify(request), output)
  } finally {
    await store.close()
  }
}

function endWith(report: VerifyReport, output: Output): number {
  output.end(report)
  return report.ok ? EXIT_CODE.done : EXIT_CODE.damaged
}

/** Reports that a store cannot be opened. If damage is the reason, it reports the store as damaged. */
function cannotOpen(failure: unknown, full: boolean, output: Output, io: CommandIo): number {
  const isDamaged =
    isStoreError(failure) && (failure.code === 'DATA_CORRUPT' || failure.code === 'DATA_LOSS')
  if (!isDamaged) {
    if (!isStoreError(failure) && !(failure instanceof ProgramFailure)) throw failure
    io.warn(`rowstash: ${failure.message}`)
    return EXIT_CODE.notOpened
  }
  const finding = { kind: 'store', severity: 'damage', message: failure.message } as const
  output.finding(finding)
  output.end({
    ok: false,
    full,
    damageCount: 1,
    informationCount: 0,
    findings: [finding],
    checked: NOTHING,
  })
  return EXIT_CODE.damaged
}

const NOTHING: VerifyReport['checked'] = {
  teams: 0,
  tables: 0,
  rows: 0,
  stashes: 0,
  files: 0,
  uploads: 0,
  objects: 0,
  bytes: 0,
}

type Output = Readonly<{
  finding(finding: VerifyFinding): void
  end(report: VerifyReport): void
}>

function jsonOutput(io: CommandIo): Output {
  return {
    finding: (finding) => io.print(JSON.stringify(finding)),
    end: ({ findings: _, ...summary }) => io.print(JSON.stringify(summary)),
  }
}

function textOutput(io: CommandIo, isVerbose: boolean): Output {
  return {
    finding(finding) {
      const { kind, severity, message, ...place } = finding
      if (severity === 'information' && !isVerbose) return
      const parts = Object.entries(place).map(([part, value]) => {
        return part === 'place' ? String(value) : `${part} ${value}`
      })
      const where = parts.length === 0 ? '' : ` (${parts.join(', ')})`
      io.print(`${severity}: ${kind}: ${message}${where}`)
    },
    end({ ok, full, damageCount, informationCount, checked }) {
      const { tables, rows, files, objects, bytes } = checked
      const what = `${tables} tables, ${rows} rows, ${files} files, ${objects} objects, ${bytes} bytes read`
      const findings = damageCount === 1 ? 'finding' : 'findings'
      const found = ok ? 'nothing is damaged' : `${damageCount} ${findings} of damage`
      const hint = isVerbose ? '' : ' (--verbose lists them)'
      const orphans = informationCount === 0 ? '' : `; orphans: ${informationCount}${hint}`
      io.print(`${full ? 'full' : 'quick'} verify of ${what}: ${found}${orphans}`)
    },
  }
}
