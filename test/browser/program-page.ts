// Bundles a program as users of the package do, and opens pages that run it.
import { createReadStream } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type BuildOptions, build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { ROOT } from '../support/project.js'

/** Bundles a program into a file. A warning fails the test. */
export async function bundle(
  entry: string,
  outfile: string,
  options: BuildOptions,
): Promise<string> {
  const common = { bundle: true, format: 'esm', logLevel: 'silent', absWorkingDir: ROOT } as const
  const { warnings } = await build({ ...common, entryPoints: [entry], outfile, ...options })
  expect(warnings).toEqual([])
  return outfile
}

/** An origin whose pages run one of the programs. It ends with the test. */
export type ProgramSite = Readonly<{
  /** Opens another page of the origin. */
  openPage(): Promise<Page>
}>

/** @param programs - Files of bundles, by the path from which a page loads them. */
export async function openSite(
  browser: Browser,
  programs: Readonly<Record<string, string>>,
  program: string,
): Promise<ProgramSite> {
  const server = createServer(({ url = '' }, response) => {
    const path = programs[url]
    if (path !== undefined) {
      response.setHeader('content-type', 'text/javascript')
      createReadStream(path).pipe(response)
      return
    }
    response.setHeader('content-type', 'text/html')
    response.end(`<!doctype html><script type="module" src="${program}"></script>`)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const context = await browser.newContext()
  onTestFinished(async () => {
    await context.close()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    async openPage() {
      const page = await context.newPage()
      const problems: string[] = []
      page.on('pageerror', (failure) => problems.push(failure.message))
      await page.goto(`http://127.0.0.1:${port}/`)
      expect(problems).toEqual([])
      return page
    },
  }
}
