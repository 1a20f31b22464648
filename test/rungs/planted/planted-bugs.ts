// Bugs that the model test must find. Each is one edit of the source, applied to a copy of the project
// by run-planted-bugs.mjs; the code to find stands in its file exactly once: see plant.ts.

export type PlantedBug = Readonly<{
  /** The bug, as a sentence. */
  name: string
  /** Its name, behind folders where others have the same. */
  file: string
  /** White space and comments do not count. */
  find: string
  replace: string
}>

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'a stash that expires is deleted, and begins anew with the next chunk',
    file: 'stash-records.ts',
    find: 'puts: [\n      [key, expired],\n      [deadStashKey(head.nonce), EMPTY_RECORD],\n    ],',
    replace: 'deletes: [key], puts: [[deadStashKey(head.nonce), EMPTY_RECORD]],',
  },
  {
    name: 'a stash that has expired takes more chunks, and is used with those alone',
    file: 'stash-records.ts',
    find: 'checkIsWhole(stashId, head, fresh.number)',
    replace: '',
  },
  {
    name: 'a link commit does not check that the stash is still the same',
    file: 'create-table.ts',
    find: '...checksOf(source),',
    replace: '',
  },
  {
    name: 'a link commit does not check the head of the table',
    file: 'table-writer.ts',
    find: 'checks: [{ key, equals: before.bytes }, ...checks],',
    replace: 'checks,',
  },
  {
    name: 'a page ignores the tombstone over a row of a segment',
    file: 'page-reader.ts',
    find: `const laid = record === undefined ? null : texts.ofRecord(record)
      const text = showsStored`,
    replace: `const laid = record === undefined ? null : (texts.ofRecord(record) ?? frame.rowText(row))
      const text = showsStored`,
  },
  {
    name: 'the reference of a replaced chunk comes back',
    file: 'stash-records.ts',
    find: 'const value = encodeChunkReference({ chunk, putAt, list: list.name })',
    replace: 'const value = reference ?? encodeChunkReference({ chunk, putAt, list: list.name })',
  },
  {
    name: 'numeric serials are in the order of texts',
    file: 'serial-order.ts',
    find: '? compareNumbers : compareTexts',
    replace: '? compareTexts : compareTexts',
  },
  {
    name: 'a page of overwritten rows shows the version of the new ones',
    file: 'generations.ts',
    find: 'version: found.lastVersion',
    replace: 'version: head.version',
  },
  {
    name: 'a row ID of overwritten rows still answers',
    file: 'row-lookup.ts',
    find: 'if (extent < firstExtent || extent >= nextExtent) return null',
    replace: 'if (extent >= nextExtent) return null',
  },
  {
    name: 'a precondition fails after the row was changed',
    file: 'table.ts',
    find: 'const updated = await updateRow(place, rowId, isSync(given) ? given : await given, wanted)',
    replace: `const before = (await this.get(rowId))?.version ?? 0
      const updated = await updateRow(place, rowId, await given, { ...wanted, ifMatch: undefined })
      if (ifMatch !== undefined && before > ifMatch) throw new StoreError('PRECONDITION_FAILED', '')`,
  },
  {
    name: 'a page that is full by the bytes of its records has no continuation',
    file: 'record-scan.ts',
    find: 'this.#text += record.text.length',
    replace: 'this.#text += value.length',
  },
  {
    name: 'an answer rests on a commit in flight that may yet be refused',
    file: 'table-writer.ts',
    find: 'if (isSync(step)) return step.commit === undefined ? again() : step',
    replace: 'if (isSync(step)) return step',
  },
  {
    name: 'the sweep does not see what stashes name',
    file: 'named-objects.ts',
    find: "for (const ref of decodeChunkSegments(reference).segments) { yield { kind: 'segment', ref, isOfTable: false } }",
    replace: 'decodeChunkSegments(reference)',
  },
  {
    name: 'the sweep leaves the extent pages of overwritten rows',
    file: 'sweep-generations.ts',
    find: 'dropping.map(({ pages }) => pages)',
    replace: 'dropping.map(({ rows }) => rows)',
  },
  {
    name: 'a scan does not keep the rows that it reads',
    file: 'generations.ts',
    find: 'if (isKept || pins.has(nonce)) {',
    replace: 'if (isKept) {',
  },
  {
    name: 'deleting a stash leaves it in use where it is put again',
    file: 'stash-records.ts',
    find: 'deletes: [key],',
    replace: 'deletes: [],',
  },
  {
    name: 'a fold forgets which rows were deleted',
    file: 'fold.ts',
    find: 'return putFolded(context, texts, versions, liveRows === texts.length ? null : deleted)',
    replace: 'return putFolded(context, texts, versions, null)',
  },
  {
    name: 'a fold forgets the versions of rows',
    file: 'fold.ts',
    find: 'versions.push(laid?.version ?? old?.versionOf?.(slot) ?? entry.version)',
    replace: 'versions.push(entry.version)',
  },
  {
    name: 'a fold loses an update made meanwhile',
    file: 'delete-records.ts',
    find: '{ ...plan(left), checks: left }',
    replace: 'plan(left)',
  },
  {
    name: 'two rows of one overwrite keep the same ID',
    file: 'preserved-ids.ts',
    find: 'return (byte & bit) === 0',
    replace: 'return true',
  },
  {
    name: 'a wider type does not change the versions of the rows that it changes',
    file: 'schema-change.ts',
    find: 'return { ...generation, schemaNumber, convertBefore, widenedAt: version }',
    replace: 'return { ...generation, schemaNumber, convertBefore }',
  },
  {
    name: 'cells that were there before their column was widened stay as they were',
    file: 'schema-change.ts',
    find: '  const { nextExtent: convertBefore } = generation',
    replace: '  const { convertBefore } = generation',
  },
  {
    name: 'a fold keeps an old row version',
    file: 'fold.ts',
    find: 'laid?.version ?? old?.versionOf?.(slot) ?? entry.version',
    replace: 'old?.versionOf?.(slot) ?? laid?.version ?? entry.version',
  },
  {
    name: 'a fold keeps the old text of a row',
    file: 'fold.ts',
    find: "texts.push(isDeleted ? '' : (laid?.text ?? text))",
    replace: "texts.push(isDeleted ? '' : text || (laid?.text ?? ''))",
  },
  {
    name: 'a kept row has a second ID, which a further overwrite takes for its own',
    file: 'preserved-ids.ts',
    find: 'if (this.forward?.idAt(place)) return null',
    replace: '',
  },
  {
    name: 'a page shows a second ID for a kept row',
    file: 'page-writer.ts',
    find: 'if (kept !== null) {',
    replace: 'if (kept === undefined) {',
  },
  {
    name: 'a kept row also answers to its positional ID',
    file: 'row-lookup.ts',
    find: 'return keptAnother === null ? minted : null',
    replace: 'return minted',
  },
  {
    // Either half alone loses no rows: what was named after the first mark, the second finds named.
    name: 'marks are taken before references, and one mark is enough',
    file: 'sweep.ts',
    find: `const listed = await listAll(this.#context, checkGoesOn)
    const { isPending } = await readInUse(this.#context)
    const pending = new Set(listed.filter(isPending))
    const partitions = (await this.#teams()).map((teamId) => {
      return stepwise(kv.partition(teamId), checkGoesOn)
    })
    const { named, bytesHeld } = await markAll(partitions)`,
    replace: `const partitions = (await this.#teams()).map((teamId) => {
      return stepwise(kv.partition(teamId), checkGoesOn)
    })
    const { named, bytesHeld } = await markAll(partitions)
    const listed = await listAll(this.#context, checkGoesOn)
    const { isPending } = await readInUse(this.#context)
    const pending = new Set(listed.filter(isPending))
    for (const id of listed) {
      if (!this.#unnamed.has(id)) this.#unnamed.set(id, options.clock.now())
    }`,
  },
  {
    name: 'a widened number is read back unquoted by its row ID',
    file: 'row-lookup.ts',
    find: 'const converts = entry.convert || position.extent < generation.convertBefore',
    replace: 'const converts = entry.convert',
  },
  {
    name: 'a widened number is read back unquoted in a page',
    file: 'page-reader.ts',
    find: 'text === null || schemaNumber === generation.schemaNumber ? text : convert(text, version),',
    replace: "schemaNumber < 0 ? convert(text ?? '', version) : text,",
  },
  {
    name: 'a row that is kept in memory hides a change',
    file: 'hot-row-cache.ts',
    find: 'return kept?.head === head ? kept : undefined',
    replace: 'return kept',
  },
  {
    name: 'an Idempotency-Key gives the result of another table',
    file: 'keys.ts',
    find: '.u8(IDEMPOTENCY_SCOPE.table).bytes(table)',
    replace: '.u8(IDEMPOTENCY_SCOPE.table)',
  },
  {
    name: 'an upsert empties the columns that its input does not name',
    file: 'merged-row.ts',
    find: 'if (rules.inputColumns.has(id) && !after.has(id)) changes.set(id, null)',
    replace: 'if (!after.has(id)) changes.set(id, null)',
  },
  {
    name: 'a part of a transaction that changes nothing answers the version before it',
    file: 'transaction-table.ts',
    find: 'return version === result.version ? result : { ...result, version }',
    replace: 'return version < 0 ? { ...result, version } : result',
  },
  {
    name: 'a row that one commit adds and removes is told as added',
    file: 'record-history.ts',
    find: 'removed: [...runsOf(removed), ...runsOf(neverSeen)],',
    replace: 'removed: runsOf(removed),',
  },
]
