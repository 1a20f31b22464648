// The packages that read and write Parquet, loaded on first use.
import { StoreError } from '../../src/index.js'

// A bundler only warns of a missing package if the import has a `catch`.

/** @throws {StoreError} OPTION_NOT_ALLOWED: the package is not installed */
export function loadReader(): Promise<typeof import('hyparquet')> {
  return import('hyparquet').catch((failure: unknown) => throwMissing('hyparquet', failure))
}

/** The parts of the package that write. */
export type WriterPackage = Pick<
  typeof import('hyparquet-writer') & typeof import('hyparquet-writer/src/metadata.js'),
  'ByteWriter' | 'ParquetWriter' | 'writeMetadata'
>

/** @throws {StoreError} OPTION_NOT_ALLOWED: the package is not installed */
export async function loadWriter(): Promise<WriterPackage> {
  const missing = (failure: unknown): never => throwMissing('hyparquet-writer', failure)
  const { ByteWriter, ParquetWriter } = await import('hyparquet-writer').catch(missing)
  const { writeMetadata } = await import('hyparquet-writer/src/metadata.js').catch(missing)
  return { ByteWriter, ParquetWriter, writeMetadata }
}

function throwMissing(name: string, failure: unknown): never {
  const { code, message } = failure as NodeJS.ErrnoException
  // The writer imports the reader, so the missing package may have the other name.
  if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes("'hyparquet")) throw failure
  const problem = `Parquet needs the package ${name}, which is not installed`
  throw new StoreError('OPTION_NOT_ALLOWED', `${problem}; run: npm install ${name}`, {
    cause: failure,
  })
}
