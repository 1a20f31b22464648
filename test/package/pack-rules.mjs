// What the package may consist of. A file of another kind, or a larger one, was not meant to be published.
import { posix } from 'node:path'

const KB = 1_000

/** The kinds of files, each with the bytes that one of them has at most. */
const KINDS = [
  { form: /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md)$/, max: 64 * KB },
  { form: /^dist\/[\w-]+\.js$/, max: 1_310 * KB },
  { form: /^dist\/[\w-]+\.d\.ts$/, max: 250 * KB },
  { form: /^dist\/openapi\.json$/, max: 400 * KB },
  {
    form: /^src\/(?:guides\/(?:[\w-]+\.md|llms\.txt)|contract\/CONTRACT\.md|format\/FORMAT\.md)$/,
    max: 64 * KB,
  },
  { form: /^bench\/results\/[\w-]+\.svg$/, max: 24 * KB },
  { form: /^adapters\/page\/pictures\/readme\.png$/, max: 64 * KB },
  { form: /^test\/adapters\/examples\/(?:[\w[\].-]+\/)*[\w[\].-]+\.m?js$/, max: 2 * KB },
  { form: /^adapters\/cli\/examples\/[\w.-]+$/, max: 8 * KB },
]

/** Bytes of the package as it is published, and installed, at most. */
export const PACKED_MAX = 1_205 * KB
export const UNPACKED_MAX = 4_230 * KB

/** Bytes of an entry that is bundled for a browser, minified and compressed with gzip, at most: `later` on demand. */
export const BUNDLE_MAX = {
  rowstash: { first: 310 * KB, later: 44.5 * KB },
  // What is loaded later reads files: dialects, lines, nested objects, what makes columns text; or feeds of changes; or
  // changes or converts many rows at once.
  'rowstash/client': { first: 23.7 * KB, later: 20.3 * KB },
}

/**
 * Scripts that npm runs when somebody installs a package. None is needed: an install works the same where scripts are
 * blocked.
 */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepublish', 'prepare']

/** @param {{ path: string, size: number }[]} files @returns what is wrong, a line each */
export function wrongFiles(files) {
  return files.flatMap(({ path, size }) => {
    const kind = KINDS.find(({ form }) => form.test(path))
    if (kind === undefined) return [`${path} is not of a kind that is published`]
    return size > kind.max ? [`${path} has ${size} bytes; ${kind.max} are the most`] : []
  })
}

/** Files that package.json names and the package lacks, and scripts that it must not have. */
export function wrongManifest({ exports, bin, scripts }, files) {
  const named = [...Object.values(bin), ...Object.values(exports)].flatMap((target) => {
    return typeof target === 'string' ? [target] : Object.values(target)
  })
  const packed = new Set(files.map(({ path }) => path))
  const missing = named.map((path) => posix.normalize(path)).filter((path) => !packed.has(path))
  const scripted = INSTALL_SCRIPTS.filter((name) => scripts[name] !== undefined)
  return [
    ...missing.map((path) => `package.json names ${path}, which is not in the package`),
    ...scripted.map((name) => `package.json has the script "${name}", which an install would run`),
  ]
}

/**
 * Pictures that a reader of the package would not see: they are in it, or have a URL. A page of a registry, which shows
 * the README alone, finds the pictures of it in the repository that `repository` names.
 * @param {string} path - Of the document.
 */
export function wrongPictures(path, text, files) {
  const packed = new Set(files.map((file) => file.path))
  const targets = [
    ...[...text.matchAll(/!\[[^\]]*\]\(([^)\s]+)/g)].map(([, target = '']) => target),
    ...[...text.matchAll(/<img[^>]*\ssrc=["']?([^"'\s>]+)/g)].map(([, target = '']) => target),
  ]
  return targets
    .filter((target) => {
      if (target.startsWith('https://')) return false
      return !packed.has(posix.join(posix.dirname(path), target))
    })
    .map((target) => `${path} shows ${target}, which a reader of the package does not see`)
}

/**
 * Links of a document to files that a reader of the package does not have. What stands in fences is no link.
 * @param {string} path - Of the document.
 */
export function wrongLinks(path, text, files) {
  const packed = files.map((file) => file.path)
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, '')
  return [...prose.matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return []
    const led = posix.join(posix.dirname(path), target).replace(/\/$/, '')
    const isThere = packed.some((file) => file === led || file.startsWith(`${led}/`))
    return isThere ? [] : [`${path} links to ${target}, which is not in the package`]
  })
}

/**
 * Paths of the repository in code type that a reader of the package does not have.
 * @param {string} text - Of a document.
 */
export function absentPaths(text, files) {
  const packed = files.map((file) => file.path)
  const named = [...text.matchAll(/`((?:adapters|bench|src|test)\/[^`\s]*)`/g)]
  return named.flatMap(([, path = '']) => {
    const isThere = packed.some((file) => file === path || file.startsWith(`${path}/`))
    return isThere ? [] : [path]
  })
}

/** The fields that the owner of the package sets before it is published first (CONTRIBUTING.md). */
export const OWNER_FIELDS = ['repository', 'homepage', 'bugs']

/** Fields that are missing; or, for a publication, that still name the host of examples. */
export function wrongOwner(manifest, { isPublication }) {
  return OWNER_FIELDS.flatMap((name) => {
    const text = JSON.stringify(manifest[name])
    if (text === undefined) return [`package.json lacks "${name}"`]
    if (!isPublication || !/\bexample\.(?:com|org|net)\b/.test(text)) return []
    return [
      `package.json has a placeholder in "${name}": set it to a URL of yours (CONTRIBUTING.md)`,
    ]
  })
}
