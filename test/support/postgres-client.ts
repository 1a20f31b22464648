// A connection outside the store, for tests that inspect or change its tables.
import pg from 'pg'
import { onTestFinished } from 'vitest'

/** Connects to a database until the end of the test. */
export async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}
