// Random texts close to valid ones: most bugs of a rule show one edit away from its boundary.
import fc from 'fast-check'

const EDITS_MAX = 3

/** A sample with up to three edits, or a text made only of the alphabet. */
export function nearText(samples: readonly string[], alphabet: string): fc.Arbitrary<string> {
  const chars = [...alphabet]
  const unit = fc.constantFrom(...chars)
  const edit = fc.record({
    at: fc.nat(),
    removed: fc.nat(2),
    added: fc.string({ unit, maxLength: 2 }),
  })
  const edited = fc
    .tuple(fc.constantFrom(...samples), fc.array(edit, { maxLength: EDITS_MAX }))
    .map(([sample, edits]) =>
      edits.reduce((text, { at, removed, added }) => {
        const start = at % (text.length + 1)
        return text.slice(0, start) + added + text.slice(start + removed)
      }, sample),
    )
  return fc.oneof(
    { weight: 4, arbitrary: edited },
    { weight: 1, arbitrary: fc.string({ unit, maxLength: 24 }) },
  )
}
