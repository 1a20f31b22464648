// Marks in a store's table: the place of its objects, and whether it is being filled.
import { utf8 } from '../../src/base/bytes.js'
import { crc32 } from '../../src/base/platform.js'
import { StoreError } from '../../src/base/store-error.js'
import { type PostgresKvOptions, resolvePostgresOptions } from './connection/postgres-options.js'
import { FILLED, FILLING, readNumber } from './connection/tables.js'
import { OBJECTS_TABLE } from './object-options.js'
import { onStore } from './version-base.js'

/** The mark for objects in tables of the same database. */
const IN_POSTGRES = -1

/**
 * Records the place of a store's objects when it is first opened, so that no process uses another place. A store
 * without objects in PostgreSQL may still switch to a bucket. Call it after the objects were opened.
 * @param bucket - Bucket and prefix; null: PostgreSQL.
 * @throws {StoreError} OPTION_NOT_ALLOWED: the objects are in another place
 */
export async function noteObjectsPlace(
  options: PostgresKvOptions,
  bucket: string | null,
): Promise<void> {
  const place = bucket === null ? IN_POSTGRES : crc32(utf8(bucket))
  const noted = await onStore('noteObjectsPlace', options, async (connection, names) => {
    const { meta } = names
    await connection.query({
      text: `insert into ${meta} (name, value) values ('objects_at', ${place}) on conflict (name) do nothing`,
    })
    const first = await readNumber(connection, names, 'objects_at')
    if (place === IN_POSTGRES || first !== IN_POSTGRES) return first
    const { schema } = resolvePostgresOptions(options)
    await connection.query({
      text: `update ${meta} set value = ${place} where name = 'objects_at' and value = ${IN_POSTGRES}
        and not exists (select from "${schema}"."${OBJECTS_TABLE}")`,
    })
    return readNumber(connection, names, 'objects_at')
  })
  if (noted === place) return
  const where = noted === IN_POSTGRES ? 'in PostgreSQL, without S3' : 'in another bucket or prefix'
  throw new StoreError('OPTION_NOT_ALLOWED', `The objects of this store are ${where}`)
}

/** Marks a store as incomplete, so that it cannot be opened, or removes the mark. */
export async function markFilling(options: PostgresKvOptions, isFilling: boolean): Promise<void> {
  const format = isFilling ? FILLING : FILLED
  await onStore('markFilling', options, (connection, { meta }) =>
    connection.query({ text: `update ${meta} set value = ${format} where name = 'format'` }),
  )
}
