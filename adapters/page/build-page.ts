// Builds the files of the page: one script and one style sheet, which need nothing else. The build of the package
// includes their text; a program that runs from these sources builds them at the first request.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import * as TEXT from './browser/base/texts.js'

/** The files of the page as the browser gets them. */
export type PageFiles = Readonly<Record<'html' | 'script' | 'style' | 'icon', string>>

/** The used part of rolldown and esbuild, which only developers of the package have. */
type Bundler = Readonly<{
  rolldown(options: object): Promise<{
    generate(options: object): Promise<{ output: readonly Readonly<{ code: string }>[] }>
    close(): Promise<void>
  }>
}>
type Minifier = Readonly<{
  build(options: object): Promise<{ outputFiles: readonly Readonly<{ text: string }>[] }>
}>

/** @param root - The folder of the project. */
export async function buildPage(root: string = process.cwd()): Promise<PageFiles> {
  const folder = join(root, 'adapters/page/browser')
  const script = await bundleScript(join(folder, 'main.ts'))
  const style = await bundleStyle(join(folder, 'page.css'))
  const html = await readFile(join(folder, 'page.html'), 'utf8')
  const icon = await readFile(join(folder, 'icon.svg'), 'utf8')
  return { html: html.replace('NEEDS_SCRIPT', TEXT.needsScript), icon, script, style }
}

async function bundleScript(input: string): Promise<string> {
  const tool = 'rolldown' // not a literal in the import: a program's bundler must not follow it
  const { rolldown } = (await import(/* @vite-ignore */ tool)) as Bundler
  const bundle = await rolldown({ input, platform: 'browser' })
  try {
    const { output } = await bundle.generate({ format: 'esm', minify: true, comments: false })
    return output[0]?.code ?? ''
  } finally {
    await bundle.close()
  }
}

async function bundleStyle(input: string): Promise<string> {
  const tool = 'esbuild' // As above.
  const { build } = (await import(/* @vite-ignore */ tool)) as Minifier
  const given = { entryPoints: [input], bundle: true, minify: true, write: false }
  const { outputFiles } = await build({ ...given, logLevel: 'error', legalComments: 'none' })
  return outputFiles[0]?.text ?? ''
}
