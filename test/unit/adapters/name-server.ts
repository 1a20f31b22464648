// A name server that gives a test's answers, and records its queries.
import { createSocket, type RemoteInfo } from 'node:dgram'
import { onTestFinished } from 'vitest'

/** IPv4 addresses by name; `silent`: no answer ever comes. Other names do not exist. */
export type Names = Readonly<Record<string, readonly string[] | 'silent'>>

const HEADER_BYTES = 12
const TYPE_A = 1
const RESPONSE = 0x8180
const NO_SUCH_NAME = 3

export async function nameServer(
  names: Names,
): Promise<Readonly<{ address: string; asked: readonly string[] }>> {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query: Buffer, { port, address }: RemoteInfo) => {
    const { name, type, end } = questionOf(query)
    if (type === TYPE_A) asked.push(name)
    const known = names[name]
    if (known !== 'silent')
      socket.send(answerTo(query.subarray(0, end), type, known), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void socket.close())
  return { address: `127.0.0.1:${socket.address().port}`, asked }
}

function questionOf(query: Buffer): Readonly<{ name: string; type: number; end: number }> {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function answerTo(question: Buffer, type: number, known: readonly string[] | undefined): Buffer {
  const records = (type === TYPE_A ? (known ?? []) : []).map((address) => {
    // A pointer to the queried name, A, IN, a time to live of a minute, four bytes.
    return Buffer.from([
      0xc0,
      HEADER_BYTES,
      0,
      1,
      0,
      1,
      0,
      0,
      0,
      60,
      0,
      4,
      ...address.split('.').map(Number),
    ])
  })
  const answer = Buffer.concat([question, ...records])
  answer.writeUInt16BE(RESPONSE | (known === undefined ? NO_SUCH_NAME : 0), 2)
  answer.writeUInt16BE(1, 4)
  answer.writeUInt16BE(records.length, 6)
  answer.writeUInt32BE(0, 8)
  return answer
}
