// Changes of an input: small ones at any place, parts of other inputs, and words that have a meaning in the code.
import { mutate, type Seeded } from '../../support/seeded.js'

type Input = Uint8Array<ArrayBuffer>

/** Most bytes of an input. */
const INPUT_BYTES_MAX = 4_096

/** Bytes at the boundaries of ASCII, of its printable part, and of UTF-8. */
const BYTES = [
  0, 9, 10, 13, 0x1f, 0x20, 0x22, 0x2c, 0x5c, 0x7f, 0x80, 0xbf, 0xc0, 0xed, 0xef, 0xf4, 0xff,
]

const NUMBERS = ['0', '-0', '1e400', '9007199254740993', '-1', '4294967296', '1.5', '01']

/** @param others - Inputs of which parts are taken. @param words - Words of the target. */
export function changed(
  random: Seeded,
  input: Input,
  others: readonly Input[],
  words: readonly string[],
): Input {
  let made = input
  for (let changes = random.once(2) ? 1 : 2 + random.below(3); changes > 0; changes--) {
    const isOfTokens = random.once(2)
    made = isOfTokens
      ? withOtherToken(random, made, others, words)
      : changedOnce(random, made, others, words)
  }
  return made.subarray(0, INPUT_BYTES_MAX)
}

/** Quoted texts, words and numbers, blanks, and every other byte: the parts of most formats. */
const TOKENS = /"(?:[^"\\\n]|\\.)*"|[-+.\w]+|[ \t]+|[\s\S]/g

/** Replaces a token by a word, a number or another token, or inserts that beside it. */
function withOtherToken(
  random: Seeded,
  input: Input,
  others: readonly Input[],
  words: readonly string[],
): Input {
  const tokens = tokensOf(input)
  const at = random.below(tokens.length + 1)
  const other = tokensOf(random.once(2) ? input : random.pick(others))
  const isNumber = /^[-+.\d]/.test(tokens[at] ?? '')
  const put =
    isNumber && random.once(2)
      ? random.pick(NUMBERS)
      : random.pick([random.pick(words), ...(other.length > 0 ? [random.pick(other)] : [])])
  // Words are texts; tokens have one character per byte.
  const bytes = Buffer.from(put, other.includes(put) ? 'latin1' : 'utf8')
  const from = tokens.slice(0, at).reduce((sum, { length }) => sum + length, 0)
  return spliced(input, from, random.below(4) > 0 ? (tokens[at]?.length ?? 0) : 0, bytes)
}

/** The tokens, with one character per byte. */
function tokensOf(input: Input): readonly string[] {
  return Buffer.from(input).toString('latin1').match(TOKENS) ?? []
}

function changedOnce(
  random: Seeded,
  input: Input,
  others: readonly Input[],
  words: readonly string[],
): Input {
  const at = random.below(input.length + 1)
  const length = random.below(Math.min(64, input.length - at) + 1)
  switch (random.below(8)) {
    case 0: // one bit
      return spliced(input, at, 1, Uint8Array.of((input[at] ?? 0) ^ (1 << random.below(8))))
    case 1: // one byte
      return mutate(random, input, BYTES)
    case 2: // a part is removed
      return spliced(input, at, length, new Uint8Array(0))
    case 3: // a part is repeated
      return spliced(input, at, 0, input.subarray(at, at + length))
    case 4: {
      const from = random.below(input.length + 1)
      return spliced(input, at, length, input.subarray(from, from + length))
    }
    case 5: {
      const other = random.pick(others)
      const from = random.below(other.length + 1)
      return spliced(input, at, length, other.subarray(from, from + random.below(64)))
    }
    case 6:
      return spliced(input, at, random.below(2) * length, textOf(random.pick(NUMBERS)))
    default:
      return spliced(input, at, random.below(2) * length, textOf(random.pick(words)))
  }
}

function textOf(text: string): Input {
  return new TextEncoder().encode(text)
}

function spliced(input: Input, at: number, gone: number, put: Uint8Array): Input {
  const rest = input.subarray(Math.min(at + gone, input.length))
  const made = new Uint8Array(at + put.length + rest.length)
  made.set(input.subarray(0, at))
  made.set(put, at)
  made.set(rest, at + put.length)
  return made
}
