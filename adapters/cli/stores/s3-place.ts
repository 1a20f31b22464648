// The place of objects in S3: a URL, and the environment variables of AWS.
import type { S3Options } from '../../s3/s3-options.js'
import { ProgramFailure } from '../command/program-failure.js'

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

const FORM = 's3://BUCKET/PREFIX or https://HOST/BUCKET/PREFIX'

/**
 * @param source - The option or variable with the URL, for messages.
 * @throws {ProgramFailure} usage; no message shows the URL
 */
export function parseS3Place(source: string, text: string, env: Environment): S3Options {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^(?:s3|https?):$/.test(url.protocol) || /[?#]/.test(text)) {
    throw new ProgramFailure('usage', `${source} must be a URL of the form ${FORM}`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new ProgramFailure('usage', `${source} must have no credentials; set AWS_ACCESS_KEY_ID`)
  }
  const region = env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || undefined
  const parts = url.pathname.split('/').filter((part) => part !== '')
  const isNamedHost = url.protocol !== 's3:'
  const [bucket = '', ...prefix] = isNamedHost ? parts : [url.hostname, ...parts]
  if (bucket === '') throw new ProgramFailure('usage', `${source} has no bucket; write ${FORM}`)
  return {
    endpoint: isNamedHost ? url.origin : resolveEndpoint(source, region, env),
    bucket,
    credentials: resolveCredentials(source, env),
    ...(region !== undefined && { region }),
    ...(prefix.length > 0 && { keyPrefix: `${prefix.join('/')}/` }),
  }
}

function resolveEndpoint(source: string, region: string | undefined, env: Environment): string {
  const given = env['AWS_ENDPOINT_URL_S3'] || env['AWS_ENDPOINT_URL']
  if (given) return given
  if (region !== undefined) return `https://s3.${region}.amazonaws.com`
  const problem = `${source} is an s3:// URL, but no server is set`
  throw new ProgramFailure('usage', `${problem}; set AWS_REGION or AWS_ENDPOINT_URL`)
}

function resolveCredentials(source: string, env: Environment): S3Options['credentials'] {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = env
  if (AWS_ACCESS_KEY_ID && AWS_SECRET_ACCESS_KEY) {
    return {
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      sessionToken: AWS_SESSION_TOKEN || undefined,
    }
  }
  const problem = `${source} needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment`
  throw new ProgramFailure('usage', problem)
}
