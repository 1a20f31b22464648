// The files of the page, for a program that runs from these sources. The build of the package replaces this module by one
// that has their text (adapters/build/build-code.mjs).
import { buildPage, type PageFiles } from './build-page.js'

export function pageFiles(): Promise<PageFiles> {
  return buildPage()
}
