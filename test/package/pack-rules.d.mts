type PackedFile = Readonly<{ path: string; size?: number }>
type Manifest = Readonly<Record<string, unknown>>

export function wrongFiles(files: readonly PackedFile[]): string[]
export function wrongManifest(manifest: Manifest, files: readonly PackedFile[]): string[]
export function wrongPictures(path: string, text: string, files: readonly PackedFile[]): string[]
export function wrongLinks(path: string, text: string, files: readonly PackedFile[]): string[]
export function absentPaths(text: string, files: readonly PackedFile[]): string[]
export function wrongOwner(
  manifest: Manifest,
  options: Readonly<{ isPublication: boolean }>,
): string[]
