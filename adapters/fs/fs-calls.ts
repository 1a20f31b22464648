// File system calls on plain descriptors, as promises. `node:fs/promises` creates an object per file, and an error with
// a stack per missing name, which makes a put three times as expensive (PERFORMANCE.md, P7).
import {
  close,
  closeSync,
  constants,
  fdatasync,
  fsync,
  open,
  rename,
  type StatsFs,
  stat,
  statfs,
  statSync,
  write,
} from 'node:fs'
import { withDescriptor } from './process-descriptors.js'

/** Modes of a store's files and folders: they contain secrets and users' data, so only the owner may read them. */
export const PRIVATE_FOLDER = 0o700
export const PRIVATE_FILE = 0o600

type Done<T> = (failure: NodeJS.ErrnoException | null, result: T) => void

function callAsPromise<T>(call: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    call((failure, result) => {
      if (failure === null) resolve(result)
      else reject(failure)
    })
  })
}

/** A call without a result, as a promise. Some calls omit the argument of `done` if nothing failed. */
function ended(call: (done: (failure?: NodeJS.ErrnoException | null) => void) => void) {
  return callAsPromise<void>((done) => call((failure) => done(failure ?? null)))
}

/** @returns a descriptor, which the caller closes. A new file is private. */
export function openFile(path: string, flags: 'r' | 'wx' | number): Promise<number> {
  return withDescriptor(() => callAsPromise((done) => open(path, flags, PRIVATE_FILE, done)))
}

/**
 * Flags for a new file whose writes end when the bytes are on disk: like `fdatasync` after each write, without another
 * trip to the thread pool. Linux only: on other systems, the flag guarantees less than Node's sync.
 */
export const WRITE_THROUGH: number | undefined =
  process.platform === 'linux'
    ? constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_DSYNC
    : undefined

/** Writes all bytes at the descriptor's position. */
export async function writeAll(descriptor: number, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    at += await callAsPromise<number>((done) =>
      write(descriptor, bytes, at, bytes.length - at, null, done),
    )
  }
}

export function syncData(descriptor: number): Promise<void> {
  return ended((done) => fdatasync(descriptor, done))
}

export function syncAll(descriptor: number): Promise<void> {
  return ended((done) => fsync(descriptor, done))
}

export function closeFile(descriptor: number): Promise<void> {
  return ended((done) => close(descriptor, done))
}

/** Closes a file on the calling thread: it does not block if the bytes are on disk. The thread pool would cost more. */
export function closeNow(descriptor: number): void {
  closeSync(descriptor)
}

export function renameFile(from: string, to: string): Promise<void> {
  return ended((done) => rename(from, to, done))
}

/** Whether a file or a folder exists. */
export function exists(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    stat(path, (failure) => {
      if (failure === null || failure.code === 'ENOENT') resolve(failure === null)
      else reject(failure)
    })
  })
}

/** `exists` on the calling thread, for a folder in use, whose entries the system has in memory. */
export function existsNow(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Bytes that this user may still write to a path's file system. */
export async function freeBytesAt(path: string): Promise<number> {
  const { bavail, bsize } = await callAsPromise<StatsFs>((done) => statfs(path, done))
  return bavail * bsize
}
