// The options of `rowstash serve`, and their help.
import { TEAM_DEFAULT } from '../command/command.js'
import type { CommandSpec, OptionSpecs } from '../command/command-spec.js'
import { KEY_VARIABLE } from '../server/key-file.js'
import { PLACE_ENVIRONMENT, PLACE_OPTIONS } from '../stores/postgres-place.js'

const HOST_DEFAULT = '127.0.0.1'

const NO = { type: 'boolean', default: false } as const

export const SERVE_OPTIONS = {
  directory: {
    type: 'string',
    value: 'DIR',
    help: 'where the data is kept; created if missing (default: ./rowstash-data)',
  },
  memory: { ...NO, help: 'keep the data in memory; it is lost at the end' },
  postgres: { ...PLACE_OPTIONS.postgres, help: 'keep it in a PostgreSQL database', isRare: false },
  s3: { ...PLACE_OPTIONS.s3, help: 'with segments and files in a bucket', isRare: false },
  host: {
    type: 'string',
    default: HOST_DEFAULT,
    value: 'HOST',
    help: `the address to listen on (default: ${HOST_DEFAULT})`,
  },
  port: {
    type: 'string',
    value: 'PORT',
    help: 'the port, 0 for any free one (default: PORT, else 8080)',
  },
  key: {
    type: 'string',
    multiple: true,
    value: 'KEY[=TEAM]',
    help: `an API key, and the team whose tables it reaches; may be repeated (default:
      ${KEY_VARIABLE}, else one that is generated and kept in DIR/key)`,
  },
  'key-file': {
    type: 'string',
    multiple: true,
    value: 'FILE',
    help: 'a file of such keys, one per line; refused if other users can read it',
  },
  'base-url': {
    type: 'string',
    value: 'URL',
    help: 'where clients reach the server, if it is behind a proxy',
  },
  'public-base-url': {
    type: 'string',
    value: 'URL',
    help: 'the URL of the files, if they have an origin of their own (default: --base-url)',
    isRare: true,
  },
  'admin-key-file': {
    type: 'string',
    value: 'FILE',
    help: `a file of keys for /metrics and /admin, one per line, such as for a scraper; refused if other
      users can read it (default: only the key that the commands on this machine use)`,
    isRare: true,
  },
  'cors-origin': {
    type: 'string',
    multiple: true,
    value: 'ORIGIN',
    help: `an origin whose pages may use the API in a browser, "*" for every origin; may be repeated
      (default: none)`,
    isRare: true,
  },
  app: {
    type: 'string',
    multiple: true,
    value: 'APPID',
    help: 'an app ID that uploads may name; may be repeated (default: any)',
    isRare: true,
  },
  'allow-private-sources': {
    ...NO,
    help: `also fetch files from URLs of private addresses and other ports: for tests and for networks
      whose users are trusted`,
    isRare: true,
  },
  'trusted-proxy': {
    type: 'string',
    multiple: true,
    default: [] as string[],
    value: 'ADDRESS',
    help: `the IP address of a proxy in front of the server, or a network such as 10.0.0.0/8; clients are
      then distinguished by X-Forwarded-For; may be repeated`,
    isRare: true,
  },
  'keyless-per-address': {
    type: 'string',
    value: 'N',
    help: `maximum number of connections from one address without a known key (default: 256); raise it
      behind a proxy that forwards many reads of files`,
    isRare: true,
  },
  limit: {
    type: 'string',
    multiple: true,
    default: [] as string[],
    value: 'NAME=VALUE',
    help: 'a limit, such as stashesMax=100; may be repeated',
  },
  limits: {
    type: 'string',
    value: 'FILE',
    help: 'a file of limits, as a JSON object such as { "stashesMax": 100 }',
    isRare: true,
  },
  page: { ...NO, help: 'serve a page for people at /; it asks for an API key' },
  json: {
    ...NO,
    help: 'when it is ready, print url, directory, key and keyFile as a line of JSON',
  },
  log: { ...NO, help: 'print a line of JSON for each answered request, without secrets' },
  'accept-loss': {
    ...NO,
    help: `start even if acknowledged commits are missing, with what is left; without it, such a store
      is refused, and the error says what is missing`,
    isRare: true,
  },
} as const satisfies OptionSpecs

export const SERVE_COMMAND: CommandSpec = {
  name: 'serve',
  summary: 'serve a store over HTTP',
  usage: ['serve [--directory DIR | --memory | --postgres URL] [options]'],
  about: 'Serves a store over HTTP until it receives SIGTERM or SIGINT (Ctrl-C).',
  options: SERVE_OPTIONS,
  notes: 'Exit code 0: it was stopped; 1: it could not start, or failed; 2: a usage error.',
  details: [
    `Keys made by "rowstash keys add" work too; a server on PostgreSQL generates none itself. The team of a
    key is "${TEAM_DEFAULT}" if none is given.`,
    `--postgres is ${PLACE_OPTIONS.postgres.help}. --s3 is ${PLACE_OPTIONS.s3.help}.`,
    `Environment: PORT, ${KEY_VARIABLE} (written as KEY or KEY=TEAM), and a variable for each limit, such
    as ROWSTASH_LIMIT_STASHES_MAX. If a limit is set in several ways, --limit comes first, then the
    variable, then the file. src/guides/LIMITS.md lists all names, units and defaults.`,
    PLACE_ENVIRONMENT,
  ],
}
