// The coverage of vitest, found where it is installed: by itself vitest looks only beside itself.
const path = 'node_modules/@vitest/coverage-v8/dist/index.js'

type Coverage = Readonly<{ getProvider(): Promise<object> }>

const { default: coverage } = (await import(new URL(path, import.meta.url).href)) as {
  default: Coverage
}

export default {
  ...coverage,
  getProvider: async () => {
    // Under its own name vitest would look for it beside itself again, in each worker.
    return Object.assign(await coverage.getProvider(), { name: 'custom' })
  },
}
