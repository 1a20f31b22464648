// GET /tables (CONTRACT.md, section 5). The names may take megabytes: their memory is charged before they are read, and
// their JSON is rendered in pieces at the client's pace.
import { type Bytes, utf8 } from '../../base/bytes.js'
import { yieldToEventLoop } from '../../base/platform.js'
import type { TableEntry } from '../../engine/types/life-types.js'
import { jsonResponse } from '../answers/render.js'
import type { Call } from '../calls/call.js'
import type { ContractResponse } from '../http/message.js'
import { FREE_BYTES_MAX } from '../memory/answer-memory.js'
import type { Room } from '../memory/memory-budget.js'

/** Size of a piece, in characters, and memory for a piece, in bytes. */
const PIECE_CHARS = 64 * 1_024
const PIECE_BYTES = 4 * PIECE_CHARS

/** GET /tables */
export async function listTables(call: Call): Promise<ContractResponse> {
  const { room, signal } = call.openAnswerRoom()
  try {
    let isShort = true
    const reserve = (bytes: number): Promise<void> | undefined => {
      isShort = bytes <= FREE_BYTES_MAX
      return isShort ? undefined : room.resize(bytes + PIECE_BYTES)
    }
    const tables = await call.team.tableNames({ reserve })
    if (!isShort) return { ...jsonResponse(200, listPieces(tables, room)), signal }
    room.close()
    return jsonResponse(200, `{"data":[${tables.map(renderEntry).join()}]}`)
  } catch (failure) {
    room.close()
    throw failure
  }
}

function renderEntry({ id, name }: TableEntry): string {
  return JSON.stringify({ id, name })
}

async function* listPieces(tables: readonly TableEntry[], room: Room): AsyncGenerator<Bytes, void> {
  try {
    room.setMoving(true)
    let text = '{"data":['
    for (const [at, table] of tables.entries()) {
      text += at === 0 ? renderEntry(table) : `,${renderEntry(table)}`
      if (text.length < PIECE_CHARS) continue
      const piece = utf8(text)
      text = ''
      yield piece
      room.moved(piece.length)
      await yieldToEventLoop() // Otherwise a fast reader would block other requests.
    }
    yield utf8(`${text}]}`)
  } finally {
    room.close()
  }
}
