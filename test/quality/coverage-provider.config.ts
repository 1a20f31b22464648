// Finds vitest's coverage provider where it is installed; vitest looks only in its own folder.
const path = 'node_modules/@vitest/coverage-v8/dist/index.js'

type Coverage = Readonly<{ getProvider(): Promise<object> }>

const { default: coverage } = (await import(new URL(path, import.meta.url).href)) as {
  default: Coverage
}

export default {
  ...coverage,
  getProvider: async () => {
    // With the name `v8` each worker of vitest would look in its own folder again.
    return Object.assign(await coverage.getProvider(), { name: 'custom' })
  },
}
