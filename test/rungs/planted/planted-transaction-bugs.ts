// Bugs that races of transactions, and of long operations beside background work, must find, each within 300 races: see
// planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'a transaction does not check tables that it only read',
    file: 'staged-changes.ts',
    find: 'const heads = [...this.#heads.values()].map(({ key, value }) => ({ key, equals: value }))',
    replace: `const heads = [...this.#heads.values()]
      .filter(({ key }) => this.#staged.has(byteText(key)))
      .map(({ key, value }) => ({ key, equals: value }))`,
  },
  {
    name: 'the reads of a transaction are each of a moment of their own',
    file: 'staged-changes.ts',
    find: 'if (checks.length === 0) return',
    replace: 'if (checks.length >= 0) return',
  },
  {
    name: 'the views of a transaction are compared with the heads alone',
    file: 'staged-changes.ts',
    find: 'const checks = this.#allChecks() if',
    replace: `const checks = this.#allChecks().filter(({ key }) => this.#heads.has(byteText(key)))
    if`,
  },
  {
    name: 'each change of a table in a transaction makes a version',
    file: 'staged-changes.ts',
    find: 'if (!this.#staged.has(text)) return head.version',
    replace: 'if (this.#staged.size >= 0) return head.version',
  },
  {
    name: 'a transaction that failed is committed',
    file: 'transaction.ts',
    find: 'await changes.end() ids.endAfter(failure)',
    replace:
      'await changes.end(); await commitChanges(team, changes, () => undefined); ids.endAfter(failure)',
  },
]
