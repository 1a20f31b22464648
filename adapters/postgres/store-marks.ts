// What the table of a store says of it beyond its format: where its objects are, and whether it is being filled.
import { utf8 } from '../../src/base/bytes.js'
import { crc32 } from '../../src/base/platform.js'
import { StoreError } from '../../src/base/store-error.js'
import { type PostgresKvOptions, resolvePostgresOptions } from './connection/postgres-options.js'
import { FILLED, FILLING, readNumber } from './connection/tables.js'
import { OBJECTS_TABLE } from './object-options.js'
import { onStore } from './version-base.js'

/** Stands for objects in tables of the same database. */
const IN_POSTGRES = -1

/**
 * Notes where the objects of a store are, when it is opened for the first time, so that no process looks for them
 * elsewhere. A store that has none in PostgreSQL yet may go on to a bucket. Call it when the objects were opened.
 * @param bucket - Bucket and prefix; null: PostgreSQL.
 * @throws {StoreError} OPTION_NOT_ALLOWED: they are elsewhere
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

/** Marks a store as incomplete, so that it cannot be opened, or takes the mark away. */
export async function markFilling(options: PostgresKvOptions, isFilling: boolean): Promise<void> {
  const format = isFilling ? FILLING : FILLED
  await onStore('markFilling', options, (connection, { meta }) =>
    connection.query({ text: `update ${meta} set value = ${format} where name = 'format'` }),
  )
}
