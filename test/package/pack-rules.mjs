// What the package may contain. A file of another kind, or a larger one, was published by mistake.
import { posix } from 'node:path'

const KB = 1_000

/** The kinds of files, each with the most bytes of one file. */
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

/** The most bytes of the package as published, and installed. */
export const PACKED_MAX = 1_205 * KB
export const UNPACKED_MAX = 4_230 * KB

/** The most bytes of an entry bundled for a browser, minified and compressed with gzip; `later`: loaded on demand. */
export const BUNDLE_MAX = {
  rowstash: { first: 310 * KB, later: 44.5 * KB },
  // Loaded on demand: reading files (dialects, lines, nested objects, the reasons why columns become text), feeds of
  // changes, and changing or converting many rows at once.
  'rowstash/client': { first: 23.7 * KB, later: 20.4 * KB },
}

/**
 * Scripts that npm runs when a package is installed. None is needed: an install is the same where scripts are blocked.
 */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepublish', 'prepare']

/** @param {{ path: string, size: number }[]} files @returns the violations, one per line */
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
 * Pictures that a reader of the package would not see. A picture is in the package or has a URL. The page of a registry
 * shows only the README, and finds its pictures through `repository`.
 * @param {string} path - The path of the document.
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
 * Links of a document to files that a reader of the package does not have. Fenced text contains no links.
 * @param {string} path - The path of the document.
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
 * Paths of the repository, in code type, that a reader of the package does not have.
 * @param {string} text - The text of a document.
 */
export function absentPaths(text, files) {
  const packed = files.map((file) => file.path)
  const named = [...text.matchAll(/`((?:adapters|bench|src|test)\/[^`\s]*)`/g)]
  return named.flatMap(([, path = '']) => {
    const isThere = packed.some((file) => file === path || file.startsWith(`${path}/`))
    return isThere ? [] : [path]
  })
}

/** Fields that the owner sets before the first publication (CONTRIBUTING.md). */
export const OWNER_FIELDS = ['repository', 'homepage', 'bugs']

/** Missing fields; for a publication, also fields that still name the example host. */
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
