// A connection of somebody else than a store, for tests that look into its tables or change them.
import pg from 'pg'
import { onTestFinished } from 'vitest'

/** Connects to a database until the end of the test. */
export async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}
