// The place of a command's table: a directory or a server.

import type { OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { checkGivenKey, KEY_VARIABLE, readKeyFile } from '../server/key-file.js'
import { parseServerUrl } from './command-client.js'

export const SERVER_OPTIONS = {
  url: { type: 'string', value: 'URL', help: 'a server instead; its URL with the base path' },
  key: { type: 'string', value: 'KEY', help: `its API key (default: ${KEY_VARIABLE})` },
  'key-file': {
    type: 'string',
    value: 'FILE',
    help: 'a file with the key; refused if other users can read it',
    isRare: true,
  },
} as const satisfies OptionSpecs

export type ServerValues = Readonly<
  Partial<Record<'directory' | 'team' | 'url' | 'key' | 'key-file', string | undefined>>
>

export type KeySource = string | Readonly<{ path: string }>

export type GivenServer = Readonly<{ url: string; key: KeySource }>

/** The server in the options; undefined: none. @throws {ProgramFailure} */
export function parseServer(
  { url, key, 'key-file': keyFile }: ServerValues,
  env: Readonly<Record<string, string | undefined>>,
): GivenServer | undefined {
  if (url !== undefined) {
    return { url: parseServerUrl(url), key: parseKeySource(key, keyFile, env[KEY_VARIABLE]) }
  }
  if (key === undefined && keyFile === undefined) return undefined
  throw new ProgramFailure('usage', '--key and --key-file need --url')
}

/** The target of an import. @throws {ProgramFailure} */
export function parseServerOrDirectory(
  values: ServerValues,
  env: Readonly<Record<string, string | undefined>>,
): GivenServer | Readonly<{ directory: string; team: string | undefined }> {
  const { directory, team, url, key } = values
  if (directory === undefined) {
    if (team !== undefined) throw new ProgramFailure('usage', '--team needs --directory')
    if (url === undefined) throw new ProgramFailure('usage', 'Specify --directory or --url')
    return parseServer(values, env) ?? { url, key: '' }
  }
  const isServer = url !== undefined || key !== undefined || values['key-file'] !== undefined
  if (!isServer) return { directory, team }
  throw new ProgramFailure(
    'usage',
    '--directory cannot be combined with --url, --key and --key-file',
  )
}

function parseKeySource(
  given: string | undefined,
  keyFile: string | undefined,
  fromEnvironment: string | undefined,
): KeySource {
  if (keyFile !== undefined) {
    if (given === undefined) return { path: keyFile }
    throw new ProgramFailure('usage', 'Specify --key or --key-file, not both')
  }
  const key = given ?? fromEnvironment
  if (key === undefined) {
    throw new ProgramFailure('usage', `Specify --key or --key-file, or set ${KEY_VARIABLE}`)
  }
  checkGivenKey(given === undefined ? KEY_VARIABLE : '--key', key)
  return key
}

/** The key itself, read from its file if necessary. @throws {ProgramFailure} */
export async function readKey(source: KeySource): Promise<string> {
  if (typeof source === 'string') return source
  const { path } = source
  const [key = '', ...more] = await readKeyFile(path)
  if (more.length > 0)
    throw new ProgramFailure('failed', `The key file ${path} has more than one key`)
  checkGivenKey(path, key)
  return key
}
