// Bugs of files and of their sweep that the model test of files must find; see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'an update puts no marker',
    file: 'row-update.ts',
    find: 'const puts = [[rowKey(table, position), record] as const, ...markers]',
    replace: 'const puts = [[rowKey(table, position), record] as const]',
  },
  {
    name: 'the put of a chunk puts no marker',
    file: 'stash-records.ts',
    find: '      ...markers,\n',
    replace: '',
  },
  {
    name: 'an add puts no marker',
    file: 'add-rows.ts',
    find: '[...added.puts, ...kept.puts, ...saved.puts, ...markers]',
    replace: '[...added.puts, ...kept.puts, ...saved.puts]',
  },
  {
    name: 'an overwrite puts no marker',
    file: 'overwrite-rows.ts',
    find: '[...added.puts, ...(await putMarkers(read, random, added.files))]',
    replace: '[...added.puts]',
  },
  {
    name: 'a create puts no marker',
    file: 'create-table.ts',
    find: '        ...markers,\n',
    replace: '',
  },
  {
    name: 'rows that are rewritten on the way from a stash into a table are not marked',
    file: 'rows-reader.ts',
    find: 'this.#files.addAll(conformed.files)',
    replace: '',
  },
  {
    name: 'markers are read after the mark',
    file: 'sweep-files.ts',
    find: 'files += await deleteFiles(context.options, partition, some, manyMarker)',
    replace: `const markers = await partition.read((view) =>
      view.getMany(some.map(({ file }) => fileMarkerKey(file))),
    )
    const late = some.map((one, at) => ({ ...one, marker: markers[at] ?? null }))
    files += await deleteFiles(context.options, partition, late, manyMarker)`,
  },
  {
    name: 'the commit that deletes files does not check their markers',
    file: 'sweep-files.ts',
    find: '    { key: fileMarkerKey(file), equals: marker },\n',
    replace: '',
  },
  {
    name: 'the mark does not see what row records name',
    file: 'file-marks.ts',
    find: 'if (text !== null) for (const file of filesIn(text)) sought.found(file)',
    replace: '',
  },
  {
    name: 'the mark does not see what stashes name',
    file: 'file-marks.ts',
    find: 'if (namesFiles) for (const segment of segments) places.push({ segment, hidden: [] })',
    replace: '',
  },
  {
    name: 'the mark does not see what segments of retired generations name',
    file: 'file-marks.ts',
    find: 'const first = firstExtentOfPageKey(key)',
    replace: `const first = firstExtentOfPageKey(key)
      const { decodeTableHead } = await import('../../format/records.js')
      const head = await view.get(Uint8Array.of(0x03, ...table))
      if (head !== null && decodeTableHead(head).generation.firstExtent > first) continue`,
  },
  {
    name: 'rows under row records keep files for ever',
    file: 'file-marks.ts',
    find: 'extents.get(extentName(key))?.hidden.push(decodeRowKey(key).slot)',
    replace: 'extents.get(extentName(key))',
  },
  {
    name: 'a fold drops the flag that a segment names files',
    file: 'fold.ts',
    find: 'return { segment, namesFiles: !files.isEmpty }',
    replace: 'return { segment, namesFiles: files.isOverfull }',
  },
  {
    name: 'an ID with escapes in it is not found',
    file: 'file-references.ts',
    find: 'if (hasEscape(texts, start, end)) yield*',
    replace: 'if (hasEscape(texts, start, start)) yield*',
  },
  {
    name: 'the sweep of objects does not see what uploads have received',
    file: 'named-objects.ts',
    find: "if (upload.state === 'received') {",
    replace: 'if (upload.bytesMax < 0) {',
  },
  {
    name: 'the sweep of objects deletes those that no commit names yet',
    file: 'object-ids.ts',
    find: 'return this.#pending.has(id)',
    replace: 'return false',
  },
  {
    name: 'a repeated completion makes another file',
    file: 'complete-upload.ts',
    find: 'const file = { key: upload.file, record: decodeFile(found.file) }',
    replace: `const twin = { key: team.options.random.bytes(FILE_KEY_BYTES), record: decodeFile(found.file) }
    if (upload.bytesMax > 0) {
      const commit = { checks: [{ key, equals: found.record }], puts: putsOfFile(head, twin.key, twin.record) }
      return { result: { file: twin, ended: null }, commit }
    }
    const file = { key: upload.file, record: decodeFile(found.file) }`,
  },
  {
    name: 'a PUT that ends after the completion opens the upload again',
    file: 'files/uploads.ts',
    find: "    if (upload.state === 'completed') throw completed()\n    const next",
    replace: '    const next',
  },
  {
    name: 'a PUT that is refused leaves its object',
    file: 'file-content.ts',
    find: "  if (isStoreError(failure) && failure.outcome === 'unknown') return\n",
    replace: '  if (isStoreError(failure)) return\n',
  },
  {
    name: 'a file goes a millisecond too early',
    file: 'sweep-files.ts',
    find: 'decodeFile(file).completedAt > fileRetentionMs',
    replace: 'decodeFile(file).completedAt >= fileRetentionMs',
  },
  {
    name: 'markers that came too late stay',
    file: 'sweep-files.ts',
    find: '    await sweepMarkers(partition)\n',
    replace: '',
  },
]
