// Files that are not tables, made by seeded code.
import { type Seeded, seeded } from '../support/seeded.js'

const WORDS =
  'the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one'.split(
    ' ',
  )

function sentence(random: Seeded): string {
  const words = Array.from({ length: 4 + random.below(9) }, () =>
    random.once(7) ? `${random.pick(WORDS)},` : random.pick(WORDS),
  )
  return `${words.join(' ')}${random.pick(['.', '?', ';', '!'])}`
}

const some = (count: number, line: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i))

/** The lines of a text, or bytes, by kind. */
export const NONSENSE: Readonly<
  Record<string, (random: Seeded) => readonly string[] | Uint8Array>
> = {
  prose: (random) => some(12, () => [sentence(random), sentence(random)].join(' ')),
  letter: (random) => ['Dear Ann,', '', ...some(6, () => sentence(random)), '', 'Yours,', 'Bob'],
  poem: (random) =>
    some(16, (i) => (i % 5 === 4 ? '' : `${random.pick(WORDS)} ${random.pick(WORDS)},`)),
  markdown: (random) => [
    '# Title',
    '',
    ...some(8, () => `- *${random.pick(WORDS)}*: ${sentence(random)}`),
  ],
  typescript: (random) => [
    "import { a, b } from './c.js'",
    ...some(
      8,
      (i) =>
        `export const f${i} = (x: number, y: number) => { return x * ${random.below(9)} + y; }`,
    ),
  ],
  python: (random) => [
    'def main(argv):',
    ...some(8, (i) => `    x${i} = [${random.below(9)}, ${random.below(9)}]`),
    '',
  ],
  c: (random) => [
    '#include <stdio.h>',
    ...some(6, () => `  printf("%d|%d\\n", ${random.below(9)}, 1);`),
    '}',
  ],
  css: (random) =>
    some(8, () => `.${random.pick(WORDS)} { margin: ${random.below(9)}px; color: red; }`),
  sql: (random) => some(8, () => `INSERT INTO t VALUES (${random.below(99)}, 'it''s', NULL);`),
  makefile: () => ['all: a b', '\tcc -o all a.c, b.c', '', 'clean:', '\trm -f all | cat'],
  diff: (random) => [
    '--- a/x',
    '+++ b/x',
    '@@ -1,3 +1,4 @@',
    ...some(6, () => `+${sentence(random)}`),
  ],
  serverLog: (random) =>
    some(
      12,
      (i) =>
        `10.0.0.${i} - - [01/Mar/2024:10:00:0${i % 10} +0100] "GET /${random.pick(WORDS)} HTTP/1.1" 200 ${random.below(999)}`,
    ),
  systemLog: (random) =>
    some(12, (i) => `Mar  1 10:00:${10 + i} host sshd[${random.below(999)}]: ${sentence(random)}`),
  stackTrace: (random) => [
    'Error: it failed, twice',
    ...some(8, (i) => `    at f${i} (/srv/a.js:${random.below(99)}:5)`),
  ],
  mail: (random) => [
    'From: a@example.org',
    'To: b@example.org, c@example.org',
    'Subject: x; y',
    '',
    ...some(5, () => sentence(random)),
  ],
  ini: (random) => [
    '[main]',
    ...some(6, () => `${random.pick(WORDS)} = ${random.below(99)}, ${random.below(99)}`),
    '[other]',
  ],
  yaml: (random) => [
    'version: 2',
    'jobs:',
    ...some(6, () => `  - name: ${random.pick(WORDS)}`),
    'list: [a, b]',
  ],
  config: (random) => [
    JSON.stringify({ name: random.pick(WORDS), list: [1, 2], deep: { on: true } }, null, 2),
  ],
  html: (random) => ['<div class="a">', ...some(5, () => `<p>${sentence(random)}</p>`), '</div>'],
  page: (random) => [
    '<!doctype html>',
    `<title>${random.pick(WORDS)}</title>`,
    '<p>Please sign in, first.</p>',
  ],
  xml: (random) => [
    '<?xml version="1.0"?>',
    '<rows>',
    ...some(5, () => `  <row id="${random.below(9)}"/>`),
    '</rows>',
  ],
  base64: (random) => some(6, () => some(64, () => random.pick([...'ABCDEFghijk0123+/'])).join('')),
  random: (random) => Uint8Array.from(some(600, () => String(random.below(256))).map(Number)),
  program: (random) =>
    Uint8Array.of(
      0x7f,
      0x45,
      0x4c,
      0x46,
      2,
      1,
      1,
      0,
      ...some(300, () => '').map(() => (random.once(2) ? 0 : random.below(256))),
    ),
  document: (random) => [
    '%PDF-1.4',
    `1 0 obj << /Length ${random.below(99)} >> stream`,
    String.fromCharCode(...some(60, () => '').map(() => 1 + random.below(30))),
    'endstream',
  ],
}

/** The bytes of a file. */
export function nonsenseOf(kind: string, seed: number): Uint8Array<ArrayBuffer> {
  const made = NONSENSE[kind]?.(seeded(seed)) ?? []
  return made instanceof Uint8Array
    ? Uint8Array.from(made)
    : new TextEncoder().encode(`${made.join('\n')}\n`)
}
