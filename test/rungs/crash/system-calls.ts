// The output of strace as calls with their arguments. Calls of several threads may overlap: each has the line on which
// it began and the line on which it ended.

import type { Seeded } from '../../support/seeded.js'

export type SystemCall = Readonly<{
  name: string
  /** As strace prints them, one text each. `bytesOf` decodes strings. */
  args: readonly string[]
  result: number
  /** Numbers of lines; equal if nothing overlapped the call. */
  begun: number
  ended: number
}>

/** Calls that change names, contents or synced state, and those that open and close descriptors. */
const TRACED = [
  ...['open', 'openat', 'creat', 'close', 'dup', 'dup2', 'dup3', 'lseek'],
  ...[
    'write',
    'pwrite64',
    'writev',
    'pwritev',
    'pwritev2',
    'copy_file_range',
    'sendfile',
    'splice',
  ],
  ...[
    'truncate',
    'ftruncate',
    'fallocate',
    'sync',
    'syncfs',
    'fsync',
    'fdatasync',
    'sync_file_range',
  ],
  ...['rename', 'renameat', 'renameat2', 'link', 'linkat', 'symlink', 'symlinkat'],
  ...['unlink', 'unlinkat', 'rmdir', 'mkdir', 'mkdirat', 'io_uring_setup'],
]

const STRING_BYTES_MAX = 64 * 1024 * 1024

/**
 * The command that runs another one and records its calls in a file.
 * @param killAt - The number of the fdatasync at which the process is killed: its data was written, and is not known to
 * be on the disk.
 */
export function straceCommand(output: string, killAt?: number): string[] {
  const calls = TRACED.map((name) => `?${name}`).join(',')
  const kill = killAt === undefined ? [] : ['-e', `inject=fdatasync:signal=KILL:when=${killAt}`]
  const what = ['-e', `trace=${calls}`, '-e', 'signal=none', ...kill]
  return ['strace', '-f', '-qq', '-xx', '-s', String(STRING_BYTES_MAX), ...what, '-o', output, '--']
}

export function parseTrace(text: string): SystemCall[] {
  const calls: SystemCall[] = []
  const unfinished = new Map<string, Readonly<{ text: string; begun: number }>>()
  for (const [at, line] of text.split('\n').entries()) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/s.exec(line) ?? []
    const started = /^(.*) <unfinished \.\.\.>$/s.exec(rest)
    if (started !== null) {
      unfinished.set(thread, { text: started[1] ?? '', begun: at })
      continue
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/s.exec(rest)
    const start = resumed === null ? { text: '', begun: at } : unfinished.get(thread)
    if (start === undefined) throw new Error(`A call is resumed that never began: line ${at}`)
    const whole = resumed === null ? rest : start.text + (resumed[1] ?? '')
    const call = parseCall(whole, start.begun, at)
    if (call !== null) calls.push(call)
  }
  return calls
}

/** null: a call that did not end, such as the last one of a killed thread. */
function parseCall(text: string, begun: number, ended: number): SystemCall | null {
  const [, name = '', args = '', result = ''] = /^(\w+)\((.*)\) += (-?\d+|\?)/s.exec(text) ?? []
  if (name === '' || result === '?') return null
  return { name, args: splitArguments(args), result: Number(result), begun, ended }
}

/** Strings contain only `\x..`, so commas outside brackets separate arguments. */
function splitArguments(text: string): string[] {
  const args: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '"') at = text.indexOf('"', at + 1)
    else if (char === '[' || char === '{') depth++
    else if (char === ']' || char === '}') depth--
    else if (char === ',' && depth === 0) {
      args.push(text.slice(start, at).trim())
      start = at + 1
    }
  }
  args.push(text.slice(start).trim())
  return args
}

/** The bytes of a string, or of all strings of an array of buffers. */
export function bytesOf(argument: string): Buffer {
  const strings = argument.match(/"[^"]*"(?:\.\.\.)?/g) ?? []
  return Buffer.concat(
    strings.map((string) => {
      if (string.endsWith('...')) throw new Error('strace cut a string')
      return Buffer.from(string.slice(1, -1).replaceAll('\\x', ''), 'hex')
    }),
  )
}

const LOGS_MAX = 60

/**
 * The command that runs another one and makes some of its calls fail: the n-th of a kind in each thread, once or from
 * then on. Writes fail only in LevelDB's logs, because others belong to Node.
 */
export function failingCalls(random: Seeded, directory: string): string[] {
  const call = random.pick(['fdatasync', 'fdatasync', 'fsync', 'rename', 'write'])
  const error = random.pick(['EIO', 'ENOSPC'])
  const first = 1 + random.below(call === 'write' ? 80 : 40)
  const when = `${first}${random.once(3) ? '+' : ''}`
  const logs = Array.from({ length: LOGS_MAX }, (_, number) => [
    '-P',
    `${directory}/kv/${String(number).padStart(6, '0')}.log`,
  ])
  const only = call === 'write' ? logs.flat() : []
  const what = ['-e', `trace=${call}`, '-e', `inject=${call}:error=${error}:when=${when}`]
  return ['strace', '-f', '-qq', '-o', '/dev/null', ...what, '-e', 'signal=none', ...only, '--']
}

/** strace, which delays flushes: this one, and each `every`-th after it. */
export function slowFlushCommand(seconds: number, first: number, every: number): string[] {
  const calls = 'fsync,fdatasync'
  const delay = `inject=${calls}:delay_enter=${seconds}s:when=${first}+${every}`
  return ['strace', '-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', delay, '--']
}
