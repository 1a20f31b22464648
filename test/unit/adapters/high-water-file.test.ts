// The high-water file is replaced while other work continues.
import { statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeHighWaterPlace } from '../../../adapters/directory/high-water-file.js'

const STORE = '00112233445566778899aabbccddeeff'
const RENAME_MS_MAX = 5

/** Blocks the event loop until the file of this name was replaced, or for RENAME_MS_MAX. */
function awaitReplaced(path: string, before: number): boolean {
  const end = performance.now() + RENAME_MS_MAX
  while (performance.now() < end) if (statSync(path).ino !== before) return true
  return false
}

test('a check between the rename of a new mark and the turn that learns of it finds no other process', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'rowstash-mark-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const { file } = makeHighWaterPlace(directory, STORE)
  const path = join(directory, 'HIGHWATER')
  await file.replace(Uint8Array.of(1))
  let checkedBetween = 0
  for (let round = 2; round < 12; round++) {
    const { ino } = statSync(path)
    let isOver = false
    const replacing = file.replace(Uint8Array.of(round)).finally(() => {
      isOver = true
    })
    while (!isOver && !awaitReplaced(path, ino)) await new Promise((turned) => setImmediate(turned))
    if (!isOver) checkedBetween++
    file.check(true)
    await replacing
    file.check(true)
  }
  expect(checkedBetween).toBeGreaterThan(0)
  await file.close()
})
