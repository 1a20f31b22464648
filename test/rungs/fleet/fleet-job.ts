// The place of a fleet's data, and how its servers open it.
import { openDirectoryPorts } from '../../../adapters/directory/directory.js'
import { openFsObjects } from '../../../adapters/fs/fs-objects.js'
import { openPostgresKv } from '../../../adapters/postgres/postgres-kv.js'
import { openS3Objects } from '../../../adapters/s3/s3-objects.js'
import type { StoreOptions } from '../../../src/index.js'
import type { KvStore, ObjectStore } from '../../../src/ports.js'

/** A folder that all processes use, or a bucket. */
export type ObjectsPlace =
  | Readonly<{ folder: string }>
  | Readonly<{
      endpoint: string
      bucket: string
      keyPrefix: string
      accessKeyId: string
      secretAccessKey: string
    }>

export type FleetPlace = Readonly<{
  postgres: string
  schema: string
  objects: ObjectsPlace
  /** The longest statement; default: that of the adapter. */
  statementTimeoutMs?: number
}>

/** A store of one server. */
export type DirectoryPlace = Readonly<{ directory: string }>

/** What goes wrong with a server: see trouble.ts. */
export type TroubleJob = Readonly<{
  seed: number
  /** Of the `TroubleFile`. */
  file: string
  /** The place of the server. */
  place: number
  leaseMs: number
  graceMs: number
  /** How often servers have stopped at a step. */
  stops: Readonly<Record<string, number>>
}>

/** The arguments of a server. */
export type FleetJob = (FleetPlace | DirectoryPlace) &
  Readonly<{ options: StoreOptions; trouble?: TroubleJob }>

/** The output of a server: one JSON text per line. */
export type ServerLine =
  | Readonly<{ say: 'open'; url: string }>
  | Readonly<{ say: 'report'; objects: number }>
  | Readonly<{ say: 'settled'; segments: number }>
  | Readonly<{ say: 'note'; text: string }>
  /** A step that this server had not come to before. */
  | Readonly<{ say: 'step'; at: string }>
  /** It stops next, and waits to be told to go on. */
  | Readonly<{ say: 'stopped'; at: string; ms: number }>

export const KEY = 'key-of-the-clients-of-the-fleet'
export const ADMIN_KEY = 'key-of-the-operator-of-the-fleet'

/** Files have the same URLs on every server. */
export const FILES_URL = 'http://files.test'

export type FleetPorts = Readonly<{ kv: KvStore; objects: ObjectStore; close(): Promise<void> }>

export async function openFleetPorts(place: FleetPlace | DirectoryPlace): Promise<FleetPorts> {
  if ('directory' in place) return openDirectoryPorts(place.directory)
  const kv = await openPostgresKv({
    urls: [place.postgres],
    schema: place.schema,
    ...(place.statementTimeoutMs && { statementTimeoutMs: place.statementTimeoutMs }),
    viewConnectionsMax: 8,
    commitConnectionsMax: 4,
    onWarning: () => undefined,
  })
  const objects = await openObjects(place.objects)
  const close = async (): Promise<void> => {
    await kv.close()
    await objects.close()
  }
  return { kv, objects, close }
}

export function openObjects(place: ObjectsPlace): Promise<ObjectStore> {
  if ('folder' in place) return openFsObjects(place.folder, { shared: true, sync: false })
  const { accessKeyId, secretAccessKey, ...others } = place
  return openS3Objects({ ...others, credentials: { accessKeyId, secretAccessKey } })
}
