// Operations on files: put, fetched from a URL, read, deleted.
import type { StoredFile } from '../../../src/index.js'
import { expectEqual, Mismatch, type Outcome } from '../model/operation.js'
import {
  check,
  expectCode,
  expectContent,
  expectDone,
  fileOf,
  type Operation,
  outcomeOf,
  type Place,
} from './operation.js'
import { type Oracle, placeOfFile } from './oracle.js'
import { fileIdOf, keyOfId, readRaw } from './raw-state.js'
import {
  FILE_BYTES_MAX,
  piecesOf,
  SOURCE_HOST,
  TEAM,
  UNWELCOME_BYTES,
  type World,
} from './world.js'

export const CONTENT_BYTES = 8

/** Content that no other file has; `unwelcome`: the quota refuses it. */
export function newContent(oracle: Oracle, bytes = CONTENT_BYTES): string {
  return `${oracle.nextNumber()}`.padEnd(bytes, '.')
}

export type PutFault = 'none' | 'length' | 'broken' | 'large' | 'unwelcome'

export function putFile(oracle: Oracle, fault: PutFault): Operation {
  const sizes = { large: FILE_BYTES_MAX + 1, unwelcome: UNWELCOME_BYTES }
  const bytes = fault === 'large' || fault === 'unwelcome' ? sizes[fault] : CONTENT_BYTES
  const content = newContent(oracle, bytes)
  const broken = new Error('The content broke off')
  return {
    text: `put a file ${fault} ${content}`,
    places: [],
    readsRows: false,
    refused: 'nothing',
    run(world, instance) {
      const pieces = piecesOf(content, fault === 'broken' ? broken : undefined)
      const about = { fileName: `${content}.txt`, contentType: 'text/plain' }
      const length = fault === 'length' ? { contentLength: bytes + 1 } : {}
      return world.team(instance).files.put(pieces, { ...about, ...length })
    },
    settle(outcome, place) {
      if (fault === 'broken') {
        const isBroken = 'failure' in outcome && outcome.failure === broken
        return check(isBroken, () => 'it must fail with the failure of its content')
      }
      if (fault === 'length') return void expectCode(outcome, 'CONTENT_LENGTH_MISMATCH')
      if (fault === 'large') return void expectCode(outcome, 'FILE_TOO_LARGE')
      if (fault === 'unwelcome') return void expectCode(outcome, 'PAYMENT_REQUIRED')
      settleNewFile(outcome, place, content)
    },
    recover: (world, instance, place) => adoptFile(world, instance, place, content),
  }
}

export type SourceKind = 'good' | 'blocked' | 'broken' | 'large'

export function fetchFile(oracle: Oracle, kind: SourceKind): Operation {
  const content = newContent(oracle, kind === 'large' ? FILE_BYTES_MAX + 1 : CONTENT_BYTES)
  return {
    text: `fetch a file ${kind} ${content}`,
    places: [],
    readsRows: false,
    refused: 'nothing',
    run: (world, instance) =>
      world.team(instance).files.fromUrl(`${SOURCE_HOST}/${kind}/${content}`),
    settle(outcome, place) {
      if (kind === 'blocked') return void expectCode(outcome, 'SOURCE_URL_NOT_ALLOWED')
      if (kind === 'broken') return void expectCode(outcome, 'SOURCE_URL_FAILED')
      if (kind === 'large') return void expectCode(outcome, 'FILE_TOO_LARGE')
      settleNewFile(outcome, place, content)
    },
    recover: (world, instance, place) => adoptFile(world, instance, place, content),
  }
}

function settleNewFile(outcome: Outcome, { oracle }: Place, content: string): void {
  const stored = fileOf(outcome)
  expectContent(stored, [content])
  check(!oracle.files.has(stored.id), () => `${stored.id} must be a new file`)
  oracle.addFile(stored, content)
}

/** A file that exists after a crash although nobody was told of it. */
export async function adoptFile(
  world: World,
  instance: number,
  { oracle }: Place,
  content: string,
): Promise<void> {
  const known = new Set([...oracle.files.keys()].map(keyOfId))
  const { files } = await readRaw(world)
  const unknown = files.filter((key) => !known.has(key))
  const [key] = unknown
  if (key === undefined) return
  check(unknown.length === 1, () => 'a crash leaves one file at most')
  const stored = await world.team(instance).files.stat(await fileIdOf(world, key))
  check(stored !== null, () => 'a file that has a record is there')
  if (stored !== null) oracle.addFile(stored, expectContent(stored, [content]))
}

/** Deletes a file, also one that rows name, or one that was already deleted. */
export function deleteFile(id: string): Operation {
  return {
    text: `delete the file ${id}`,
    places: [placeOfFile(id)],
    readsRows: false,
    refused: 'nothing',
    run: (world, instance) => world.team(instance).files.delete(`x/${id}/y`),
    settle(outcome, place) {
      const { oracle } = place
      const file = oracle.files.get(id)
      const isDeleted = expectDone(outcome)
      const mayBeMaintained =
        file !== undefined && place.isMaintained && oracle.isOld(file, place.now)
      if (!mayBeMaintained) expectEqual('whether there was a file', isDeleted, file !== undefined)
      oracle.removeFile(id)
    },
    async recover(world, instance, { oracle }) {
      await world.team(instance).files.delete(id)
      oracle.removeFile(id)
    },
  }
}

/** Everything visible of every file, and of deleted ones. */
export async function checkFiles(world: World, instance: number, oracle: Oracle): Promise<void> {
  const { store } = world.at(instance)
  const { files } = store.team(TEAM)
  for (const { stored, content } of oracle.files.values()) {
    const found = await outcomeOf(async () => {
      const open = await store.files.open(stored.id)
      if (open === null) throw new Mismatch(`${stored.id} (${content}) must be there`)
      let text = ''
      for await (const piece of open.stream()) text += Buffer.from(piece).toString()
      return text
    })
    expectEqual(`the bytes of ${stored.id}`, expectDone(found), content)
    expectEqual('what is known of a file', await files.stat(stored.path), stored)
  }
  for (const id of oracle.gone.slice(-3)) {
    expectEqual('a file that is gone', await files.get(id), null as StoredFile | null)
  }
}
