// The public interfaces of files and uploads.
import type { ByteRange } from '../../objects/objects.js'

/** The content of a file: bytes, text (as UTF-8), a Node stream or other iterable of bytes, or a web stream. */
export type FileContent =
  | Uint8Array
  | string
  | AsyncIterable<Uint8Array>
  | ReadableStream<Uint8Array>

/** A stored file, without its bytes. */
export type StoredFile = Readonly<{
  /** The ID of the file, which is also in its `path`. */
  id: string
  /**
   * The path of the file below the base URL of the HTTP contract: `files/{id}/{name}`. Any URL that ends with it names
   * the file.
   */
  path: string
  /** The name after cleaning: a label, never a path. */
  fileName: string
  /** The media type from the request, in canonical form. */
  contentType: string
  /** Its length, in bytes. */
  bytes: number
  /** The SHA-256 of the bytes: 64 lower-case hex digits. */
  sha256: string
  /** When the file was completed, in milliseconds since 1970 UTC. */
  completedAt: number
}>

/** A file whose bytes can be read, any number of times. */
export interface OpenFile extends StoredFile {
  /**
   * The bytes of the file or of a range of it, in pieces of bounded size. A range may extend beyond the end of the
   * file, where it is cut. Every piece is checked; a read of the whole file also checks the SHA-256 before it returns
   * the last piece.
   * @throws {StoreError} from the iterator: DATA_CORRUPT, FILE_NOT_FOUND (deleted meanwhile),
   *   REQUEST_VALIDATION_ERROR (the range)
   * @example
   * const { id } = await team.files.put('hello', { fileName: 'hello.txt', contentType: 'text/plain' })
   * const file = await team.files.get(id)
   * for await (const bytes of file?.stream({ start: 1, limit: 4 }) ?? []) console.log(new TextDecoder().decode(bytes)) // ell
   */
  stream(range?: ByteRange): AsyncIterable<Uint8Array>
  /**
   * The bytes of `stream` as a web stream.
   * @throws {StoreError} as `stream`
   */
  readable(range?: ByteRange): ReadableStream<Uint8Array>
}

/** A file as `files.list` lists it. */
export type FileEntry = StoredFile &
  Readonly<{
    /** Until when the file is kept even if no row contains its URL, in milliseconds since 1970 UTC. */
    keptUntil: number
  }>

/** Which files to list. */
export type FilesPageRequest = Readonly<{
  /** Maximum number of files of the page. Default: 100. Range: 1 to 1,000; a greater number counts as 1,000. */
  limit?: number | undefined
  /** The `continuation` of the previous page. Default: the first page. */
  continuation?: string | undefined
}>

/** A page of the files of a team. */
export type FilesPage = Readonly<{
  /** The files, ordered by ID. Their order says nothing about their age. */
  files: readonly FileEntry[]
  /** Present if more files follow. */
  continuation?: string
}>

/** An upload that waits for its bytes or its completion. */
export type UploadEntry = Readonly<{
  /** Names the upload, for `completeUpload`. */
  id: string
  /** The app of the upload; empty: none. */
  appId: string
  /** The name of its file. */
  fileName: string
  /** The media type of its file. */
  contentType: string
  /** Received bytes; null: none yet. */
  bytes: number | null
  /** When the upload was opened, in milliseconds since 1970 UTC. */
  createdAt: number
  /** When it expires, in milliseconds since 1970 UTC. */
  endsAt: number
}>

/** The name and type of a new file. */
export type FileDetails = Readonly<{
  /** The name of the file: 1 to 255 characters. It is cleaned before it is stored. */
  fileName: string
  /** A media type, with or without parameters. */
  contentType: string
  /**
   * The number of bytes. Content of another length fails with CONTENT_LENGTH_MISMATCH. Default: any number. Range: 0
   * to 2^53 - 1.
   */
  contentLength?: number | undefined
}>

/** The description of an upload. */
export type UploadInit = FileDetails &
  Readonly<{
    /** The app of the upload: its completion must name the same one. Default: none. */
    appId?: string | undefined
    /** The owner of the upload, who may have at most `uploadsOpenMax` uploads open. Default: no owner and no limit. */
    owner?: string | undefined
  }>

/** An open upload. */
export type UploadTicket = Readonly<{
  /** Names the upload, for `completeUpload`. */
  uploadId: string
  /**
   * Where to PUT the bytes: `uploads/{id}?…` below the base URL of the contract, or an absolute URL if the object
   * store signs URLs itself. Use it unchanged.
   */
  target: string
  /** When the target expires, in milliseconds since 1970 UTC. */
  expiresAt: number
}>

/** The files of one team. Names, types and bytes of a file never change. */
export interface Files {
  /**
   * Stores a file; it is durable when this resolves.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR, FILE_TOO_LARGE, CONTENT_LENGTH_MISMATCH, PAYMENT_REQUIRED, or the
   *   error that reading the content throws; after any of these errors, nothing is stored
   * @example
   * const file = await team.files.put('hello', { fileName: 'hello.txt', contentType: 'text/plain' })
   * console.log(file.bytes, file.fileName) // 5 hello.txt
   */
  put(content: FileContent, about: FileDetails): Promise<StoredFile>
  /**
   * Fetches a file from a URL and stores it.
   * @param about - `fileName` and `contentType`. Default: those of the source; if the source has none, `file` and
   *   `application/octet-stream`.
   * @throws {StoreError} as `put`; SOURCE_URL_NOT_ALLOWED, SOURCE_URL_FAILED, SOURCE_URL_TIMEOUT,
   *   RATE_LIMITED (too many transfers wait)
   * @example
   * const file = await team.files.fromUrl('https://files.example.com/orders.csv')
   * console.log(file.fileName, file.contentType) // orders.csv text/csv
   */
  fromUrl(
    sourceUrl: string,
    about?: Readonly<{ fileName?: string | undefined; contentType?: string | undefined }>,
  ): Promise<StoredFile>
  /**
   * Opens an upload: a client without a key may PUT its bytes to the target, any number of times until the
   * upload is completed.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR, FILE_TOO_LARGE, RATE_LIMITED (the owner has too many open uploads)
   * @example
   * const { uploadId, target } = await team.files.createUpload({ fileName: 'cat.png', contentType: 'image/png' })
   * await fetch(`${url}/${target}`, { method: 'PUT', headers: { 'content-type': 'image/png' }, body: 'a picture' })
   * const { path, bytes } = await team.files.completeUpload(uploadId)
   * console.log(path.endsWith('/cat.png'), bytes) // true 9
   */
  createUpload(about: UploadInit): Promise<UploadTicket>
  /**
   * Turns the received bytes into a file; `createUpload` has an example. A repeat returns the same file.
   * @param about - `appId`: the app that the upload was opened for. Default: none.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR, UPLOAD_NOT_FOUND, APP_NOT_ALLOWED, UPLOAD_INCOMPLETE (the upload
   *   stays open), PAYMENT_REQUIRED or FILE_TOO_LARGE (the upload ends)
   */
  completeUpload(
    uploadId: string,
    about?: Readonly<{ appId?: string | undefined }>,
  ): Promise<StoredFile>
  /**
   * A file by its ID, or by a text that contains the ID, such as its URL. null if this team has no such file.
   * @throws {StoreError} as every call: see `Store`; REQUEST_VALIDATION_ERROR for anything but a text
   * @example
   * const { path } = await team.files.put('hello', { fileName: 'hello.txt', contentType: 'text/plain' })
   * const file = await team.files.get(`https://example.com/api/${path}`)
   * console.log(file?.fileName, await new Response(file?.readable()).text()) // hello.txt hello
   */
  get(idOrUrl: string): Promise<OpenFile | null>
  /**
   * The description of a file by its ID or URL, without access to the bytes; null if there is none.
   * @throws {StoreError} as `get`
   * @example
   * const { id } = await team.files.put('hello', { fileName: 'hello.txt', contentType: 'text/plain' })
   * console.log((await team.files.stat(id))?.bytes) // 5
   */
  stat(idOrUrl: string): Promise<StoredFile | null>
  /**
   * One page of the files of the team.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR, CONTINUATION_INVALID
   * @example
   * const { id } = await team.files.put('hello', { fileName: 'hello.txt', contentType: 'text/plain' })
   * const { files } = await team.files.list({ limit: 10 })
   * console.log(files.map((file) => file.id === id)) // [true]
   */
  list(request?: FilesPageRequest): Promise<FilesPage>
  /**
   * The open uploads, newest first, at most 1,000.
   * @throws {StoreError} as every call: see `Store`
   * @example
   * await team.files.createUpload({ fileName: 'cat.png', contentType: 'image/png' })
   * console.log((await team.files.uploads()).map(({ fileName, bytes }) => `${fileName}: ${bytes}`)) // ["cat.png: null"]
   */
  uploads(): Promise<readonly UploadEntry[]>
  /**
   * Deletes a file, even if rows contain its URL.
   * @returns whether there was such a file.
   * @throws {StoreError} as every call: see `Store`; REQUEST_VALIDATION_ERROR for anything but a text
   * @example
   * const { id } = await team.files.put('hello', { fileName: 'hello.txt', contentType: 'text/plain' })
   * console.log(await team.files.delete(id), await team.files.delete(id)) // true false
   */
  delete(idOrUrl: string): Promise<boolean>
}

/** A digest that a client sent with a body. */
export type Checksum = Readonly<{ algorithm: 'md5' | 'sha256'; digest: Uint8Array }>

/** A PUT to the target of an upload, as it was received. Lengths are in bytes. */
export type UploadRequest = Readonly<{
  /** The upload ID in the path, not decoded. */
  uploadId: string
  /** The query without the question mark, not decoded. */
  query: string
  /** The Content-Type; undefined if there was none. */
  contentType: string | undefined
  /** Length of the body; undefined if it was not announced. */
  contentLength: number | undefined
  /** Digests, all of which the body must match. Default: none. */
  checksums?: readonly Checksum[]
  /** The bytes, read at most once. */
  body: AsyncIterable<Uint8Array>
}>

/** Operations on files that need no API key, because the address is secret or signed. */
export interface PublicFiles {
  /**
   * Receives the bytes of an upload. A PUT that fails or is interrupted stores nothing, and may be repeated.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR, UPLOAD_SIGNATURE_INVALID, UPLOAD_EXPIRED, UPLOAD_ALREADY_COMPLETED,
   *   UPLOAD_SUPERSEDED, CONTENT_TYPE_MISMATCH, CONTENT_LENGTH_MISMATCH, CHECKSUM_MISMATCH,
   *   FILE_TOO_LARGE, RATE_LIMITED (too many transfers wait)
   */
  receive(request: UploadRequest): Promise<void>
  /**
   * Opens a file; null if there is none.
   * @throws {StoreError} as every call: see `Store`
   */
  open(fileId: string): Promise<OpenFile | null>
}

/** The file that the quota hook decides on. */
export type QuotaRequest = Readonly<{
  /** The team that stores the file. */
  teamId: string
  /** Size of the file that is about to be stored. */
  bytes: number
  /** Size of all files of the team. */
  teamBytes: number
}>
