// File names that an attacker might send to leave a folder, break a header, or deceive a reader.

const TRAVERSALS = [
  '../',
  '..\\',
  '../',
  '../\\',
  './',
  '.\\',
  '/',
  '\\',
  '//',
  '\\\\',
  '....//',
  '..;/',
  '%2e%2e/',
  '%2e%2e%2f',
  '..%2f',
  '..%5c',
  '%252e%252e%252f',
  '..%c0%af',
  '..%u2215',
  '..\u2215',
  '..\u2044',
  '\uff0e\uff0e\uff0f',
  '..\0/',
  '~/',
  'C:\\',
  'c:/',
  'C:',
  '\\\\server\\share\\',
  '\\\\?\\C:\\',
  '\\\\.\\',
  'file:///',
  'http://host/',
  '/proc/self/',
  '/dev/',
]
const TARGETS = [
  'escaped.txt',
  'etc/passwd',
  'con',
  '.htaccess',
  '..',
  '.',
  '',
  'kv/CURRENT',
  'FORMAT',
]

const DEVICES = [
  'con',
  'prn',
  'aux',
  'nul',
  'com1',
  'com9',
  'com¹',
  'lpt1',
  'lpt³',
  'conin$',
  'CONOUT$',
]
const DEVICE_TAILS = [
  '',
  '.',
  '.txt',
  '.tar.gz',
  ' ',
  ' .txt',
  '..',
  ':',
  ':stream',
  '. . .',
  '.con',
]

const BIDI = [
  '\u061c',
  '\u200e',
  '\u200f',
  '\u202a',
  '\u202b',
  '\u202c',
  '\u202d',
  '\u202e',
  '\u2066',
  '\u2067',
  '\u2068',
  '\u2069',
]
const UNSEEN = ['\u200b', '\u2060', '\u2064', '\ufeff', '\ufff9', '\u2028', '\u2029', '\u206a']

const HEADERS = [
  'a\r\nSet-Cookie: x=1',
  'a\r\n\r\n<script>alert(1)</script>',
  'a\nContent-Type: text/html',
  'a\rb',
  'a"; filename="b.exe',
  "a\"; filename*=UTF-8''b.exe",
  'a\\"; x="',
  'a\\',
  'a";',
  'a;b=c',
  "UTF-8''a%20b",
  'a%22b',
  'a%0d%0ab',
  '=?utf-8?B?YS5leGU=?=',
  "a'b(c)d*e",
  'a, b',
]

const UNICODE = [
  'ä.txt',
  'a\u0308.txt',
  'e\u0301\u0301\u0301.txt',
  'e\u200e\u0301.txt',
  '\u0301',
  '\u212b',
  'ﬁle.txt',
  '\u1e9b\u0323',
  '<\u0338',
  '\u226e',
  '\u037e',
  '\u1fef',
  'ＣＯＮ',
  'ﾊﾝｶｸ',
  '한글.txt',
  '\u1112\u1161\u11ab',
  'नमस्ते.pdf',
  'مرحبا.doc',
  'שלום\u202etxt.exe',
  '日本語のファイル名.txt',
  'Ωμέγα',
  'z̷̢̛̼̬̺̱͔a̸l̵g̶o',
  '😀.png',
  '👨‍👩‍👧‍👦.jpg',
  '🏳️‍🌈',
  '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
  '\ud83d',
  '\ude00',
  '\ude00\ud83d',
  'a\ud800b',
  '\udfff.txt',
  '\ud800'.repeat(200),
  '\ufffd',
  '\uffff',
  '\ufdd0',
  '\u{10ffff}',
  '\ue000',
]

const ODD = [
  '',
  ' ',
  '  ',
  '.',
  '..',
  '...',
  ' . ',
  '. .',
  '\t',
  '\u00a0',
  '\u3000',
  '\0',
  '\x7f',
  '\x80',
  '\x9f',
  '-rf',
  '--',
  '-',
  '~',
  '*',
  '?',
  '<',
  '>',
  '|',
  '"',
  "'",
  '`',
  '$(id)',
  '$x',
  ';ls',
  '&',
  '#',
  '!',
  'desktop.ini',
  'Thumbs.db',
  '.DS_Store',
  'a.lnk',
  'a.exe.',
  'a.exe ',
  'a.php\0.png',
  'a.png.php',
  'a.asp;.jpg',
  'web.config::$DATA',
  'a:b',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'rsf-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  '../rsf-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'a/',
  'a\\',
  '/a/',
]

const LONG = [
  'a'.repeat(10_240),
  `${'a'.repeat(10_240)}.png`,
  'ä'.repeat(255),
  '😀'.repeat(255),
  `${'😀'.repeat(100)}.jpeg`,
  '\u0301'.repeat(10_240),
  '../'.repeat(3_000),
  '.'.repeat(10_240),
  ' '.repeat(10_240),
  `con${' '.repeat(300)}x.txt`,
  `con${'.'.repeat(300)}x`,
  `a.${'b'.repeat(300)}`,
  `${'a'.repeat(250)}${'.'.repeat(20)}png`,
  `a${'\r\n'.repeat(5_000)}b`,
  'a'.repeat(254),
  'a'.repeat(255),
  'a'.repeat(256),
  `${'a'.repeat(251)}😀`,
  `${'a'.repeat(252)}😀`,
  '\u{1d15e}'.repeat(120),
]

/** All names, without duplicates. */
export function nastyNames(): readonly string[] {
  const names = new Set([...HEADERS, ...UNICODE, ...ODD, ...LONG])
  for (const traversal of TRAVERSALS) {
    for (const target of TARGETS) {
      for (const depth of [1, 2, 5]) names.add(traversal.repeat(depth) + target)
      names.add(`a.png${traversal}${target}`)
      names.add(target + traversal)
    }
  }
  for (const device of DEVICES) {
    for (const tail of DEVICE_TAILS)
      for (const head of ['', ' ', '/']) names.add(head + device + tail)
  }
  for (const mark of [...BIDI, ...UNSEEN]) {
    for (const text of ['a#b', '#', '##', '#a', 'a#', 'photo_#gpj.exe', '.#.', 'c#on', '../#x']) {
      names.add(text.replaceAll('#', mark))
    }
  }
  // Every character up to U+00FF, and one of each later block, at the beginning, in the middle and at the end.
  for (let code = 0; code < 0x100; code++) addAround(names, String.fromCodePoint(code))
  for (let code = 0x100; code < 0x11_0000; code += code < 0x3000 ? 0x40 : 0x2001) {
    addAround(names, String.fromCodePoint(code))
  }
  return [...names]
}

function addAround(names: Set<string>, char: string): void {
  names.add(`${char}a.txt`).add(`a${char}b.txt`).add(`a.txt${char}`)
}
