// The packages that read and write Parquet, loaded on first use.
import { ProgramFailure } from '../command/program-failure.js'

/** @throws {ProgramFailure} if the package is not installed */
export function loadReader(): Promise<typeof import('hyparquet')> {
  return loaded('hyparquet', import('hyparquet'))
}

/** @throws {ProgramFailure} if the package is not installed */
export function loadWriter(): Promise<typeof import('hyparquet-writer')> {
  return loaded('hyparquet-writer', import('hyparquet-writer'))
}

async function loaded<T>(name: string, loading: Promise<T>): Promise<T> {
  try {
    return await loading
  } catch (failure) {
    const { code, message } = failure as NodeJS.ErrnoException
    // The writer imports the reader, so the missing package may have the other name.
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes("'hyparquet")) throw failure
    const problem = `Parquet needs the package ${name}, which is not installed`
    throw new ProgramFailure('failed', `${problem}; run: npm install ${name}`, { cause: failure })
  }
}
