// Makes the files of the page: one script and one style sheet, which need nothing else. The build of the package puts
// their text into the package; a program that runs from these sources makes them at the first request.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { TEXT } from './browser/base/texts.js'

/** The files of the page as the browser gets them. */
export type PageFiles = Readonly<Record<'html' | 'script' | 'style' | 'icon', string>>

/** What this uses of esbuild, which only developers of the package have. */
type Bundler = Readonly<{
  build(options: object): Promise<{
    outputFiles: readonly Readonly<{ path: string; text: string }>[]
  }>
}>

/** @param root - The folder of the project. */
export async function buildPage(root: string = process.cwd()): Promise<PageFiles> {
  const folder = join(root, 'adapters/page/browser')
  const tool = 'esbuild' // No literal of the import: a bundler of a program must not follow it.
  const { build } = (await import(/* @vite-ignore */ tool)) as Bundler
  const { outputFiles } = await build({
    entryPoints: { app: join(folder, 'main.ts'), style: join(folder, 'page.css') },
    outdir: '/',
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: ['es2022'],
    platform: 'browser',
    conditions: ['browser'],
    logLevel: 'error',
    legalComments: 'none',
  })
  const textOf = (name: string): string =>
    outputFiles.find(({ path }) => path.endsWith(name))?.text ?? ''
  const html = await readFile(join(folder, 'page.html'), 'utf8')
  return {
    html: html.replace('NEEDS_SCRIPT', TEXT.needsScript),
    icon: await readFile(join(folder, 'icon.svg'), 'utf8'),
    script: textOf('app.js'),
    style: textOf('style.css'),
  }
}
