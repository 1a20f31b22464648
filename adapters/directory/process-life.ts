// Identifies this process, and checks whether another one still runs.
import { readlinkSync } from 'node:fs'
import { readFile, readlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { systemCode } from '../fs/fs-error.js'

/** Identifies a process even after its ID was reused. Parts that the system does not report are empty. */
export type ProcessLife = Readonly<{
  pid: number
  /** Its start, in ticks since boot. */
  start: string
  /** The boot of its machine: 32 hex digits. */
  boot: string
  /** The PID namespace of its ID. */
  namespace: string
  host: string
}>

const SYSTEM_PATTERN = /^([0-9a-f-]{36})\/pid:\[(\d{1,20})\]$/

export async function thisProcess(): Promise<ProcessLife> {
  const [system, start] = await Promise.all([thisSystem(), ownStart()])
  const [, boot = '', namespace = ''] = SYSTEM_PATTERN.exec(system) ?? []
  return { pid: process.pid, start, boot: boot.replaceAll('-', ''), namespace, host: hostname() }
}

/** Identifies the scope of process IDs: one boot of a machine, and one PID namespace. */
export async function thisSystem(): Promise<string> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'latin1')
    return `${boot.trim()}/${await readlink('/proc/self/ns/pid')}`
  } catch (failure) {
    if (systemCode(failure) === undefined) throw failure
    return encodeURIComponent(hostname())
  }
}

/**
 * Whether a process of this system runs. Any running process with the ID counts as that process, unless it certainly
 * started at another time.
 */
export async function isRunning({
  pid,
  start,
}: Pick<ProcessLife, 'pid' | 'start'>): Promise<boolean> {
  try {
    process.kill(pid, 0) // Signal 0 sends nothing.
  } catch (failure) {
    if (systemCode(failure) === 'ESRCH') return false
  }
  const fields = await fieldsOfProcess(pid)
  if (fields === undefined) return true
  return !isDead(fields) && (start === '' || startIn(fields) === start)
}

/** The start of this process, in ticks since boot; '' if the system does not report it. */
export async function ownStart(): Promise<string> {
  const fields = await fieldsOfProcess('self')
  return fields === undefined ? '' : startIn(fields)
}

function startIn(fields: readonly string[]): string {
  return fields[19] ?? ''
}

/** Whether a process is dead. A killed process keeps its ID until its parent reaps it, which some parents never do. */
function isDead([state = '']: readonly string[]): boolean {
  return state === 'Z' || state === 'X'
}

/** Whether /proc belongs to this PID namespace: otherwise its IDs denote other processes. @throws if there is no /proc */
export function hasOwnTable(): boolean {
  return readlinkSync('/proc/self') === String(process.pid)
}

/** The system's status of a process, beginning with its state; undefined: there is none. */
async function fieldsOfProcess(pid: number | 'self'): Promise<readonly string[] | undefined> {
  try {
    if (pid !== 'self' && !hasOwnTable()) return undefined
    const text = await readFile(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ') // The process name in parentheses may contain any text.
  } catch (failure) {
    if (systemCode(failure) === undefined) throw failure
    return undefined
  }
}
