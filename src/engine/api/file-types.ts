// The library surface of files, as interfaces.
import type { ByteRange } from '../../objects/objects.js'

/** What a file is made of: bytes, text (as UTF-8), a Node stream or other iterable of bytes, a web stream. */
export type FileContent =
  | Uint8Array
  | string
  | AsyncIterable<Uint8Array>
  | ReadableStream<Uint8Array>

export type StoredFile = Readonly<{
  id: string
  /** Where the contract serves it, below the base URL: `files/{id}/{name}`. Any URL that ends so names the file. */
  path: string
  /** Cleaned: a label, never a path. */
  fileName: string
  /** As it was given, in canonical form. */
  contentType: string
  bytes: number
  /** 64 lower-case hex digits. */
  sha256: string
  /** Milliseconds since 1970 UTC. */
  completedAt: number
}>

/** A file whose bytes can be read, as often as wanted. */
export interface OpenFile extends StoredFile {
  /**
   * The bytes, or a range of them that is cut at the file's end, in pieces of bounded size. Reading all of
   * them also checks them: the last piece is given only if the whole is what was stored.
   * @throws {StoreError} DATA_CORRUPT, FILE_NOT_FOUND (it was deleted meanwhile), REQUEST_VALIDATION_ERROR
   *   (the range); when the first piece is asked for or later
   */
  stream(range?: ByteRange): AsyncIterable<Uint8Array>
  /** As `stream`, as a web stream. */
  readable(range?: ByteRange): ReadableStream<Uint8Array>
}

export type FileDetails = Readonly<{
  /** 1 to 255 characters; cleaned before it is kept. */
  fileName: string
  /** A media type, with its parameters or without. */
  contentType: string
  /** Fails with CONTENT_LENGTH_MISMATCH if the bytes are more or fewer. */
  contentLength?: number | undefined
}>

export type UploadInit = FileDetails &
  Readonly<{
    /** Only a completion that names the same app completes it. Default: none. */
    appId?: string | undefined
    /** Whoever is named here has at most `uploadsOpenMax` uploads open. Default: nobody is counted. */
    owner?: string | undefined
  }>

export type UploadTicket = Readonly<{
  uploadId: string
  /**
   * Where the bytes go with a PUT: `uploads/{id}?…` below the base URL of the contract, or an absolute URL
   * when the object store signs for itself. To be used as it is, to the letter.
   */
  target: string
  /** When the target ends, in milliseconds since 1970 UTC. */
  expiresAt: number
}>

/** The files of one team. Names, types and bytes of a file never change. */
export interface Files {
  /**
   * Stores a file; it is durable when this resolves.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR, FILE_TOO_LARGE, CONTENT_LENGTH_MISMATCH,
   *   PAYMENT_REQUIRED, and whatever the content throws; then nothing is stored
   */
  put(content: FileContent, about: FileDetails): Promise<StoredFile>
  /**
   * Fetches and stores a file. Name and type are those given, else the source's, else `file` and
   * `application/octet-stream`.
   * @throws {StoreError} as `put`; SOURCE_URL_NOT_ALLOWED, SOURCE_URL_FAILED, SOURCE_URL_TIMEOUT,
   *   RATE_LIMITED
   */
  fromUrl(
    sourceUrl: string,
    about?: Readonly<{ fileName?: string | undefined; contentType?: string | undefined }>,
  ): Promise<StoredFile>
  /**
   * Opens an upload: somebody without a key may put its bytes at the target, once or again until the
   * upload is completed.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR, FILE_TOO_LARGE, RATE_LIMITED (too many are open)
   */
  createUpload(about: UploadInit): Promise<UploadTicket>
  /**
   * Makes a file of the bytes that were put. A repeat gives the same file.
   * @throws {StoreError} UPLOAD_NOT_FOUND, APP_NOT_ALLOWED, UPLOAD_INCOMPLETE (it stays open);
   *   PAYMENT_REQUIRED, FILE_TOO_LARGE (its bytes are gone)
   */
  completeUpload(
    uploadId: string,
    about?: Readonly<{ appId?: string | undefined }>,
  ): Promise<StoredFile>
  /** By its ID, or by any text that has the ID in it, as its URL. null: this team has no such file. */
  get(idOrUrl: string): Promise<OpenFile | null>
  stat(idOrUrl: string): Promise<StoredFile | null>
  /** Deletes a file also when rows refer to it. @returns whether it was there. */
  delete(idOrUrl: string): Promise<boolean>
}

/** A digest that came with a body. */
export type Checksum = Readonly<{ algorithm: 'md5' | 'sha256'; digest: Uint8Array }>

/** A PUT to the target of an upload, as it came. */
export type UploadRequest = Readonly<{
  /** From the path, not decoded. */
  uploadId: string
  /** What stood after the question mark, not decoded. */
  query: string
  contentType: string | undefined
  /** Of the body; undefined: its length was not announced. */
  contentLength: number | undefined
  /** Each of them must hold. */
  checksums?: readonly Checksum[]
  body: AsyncIterable<Uint8Array>
}>

/** What may be done with files without a key: the address says enough. */
export interface PublicFiles {
  /**
   * Takes the bytes of an upload. What fails or ends early leaves nothing, and may be repeated.
   * @throws {StoreError} UPLOAD_SIGNATURE_INVALID, UPLOAD_EXPIRED, UPLOAD_ALREADY_COMPLETED,
   *   CONTENT_TYPE_MISMATCH, CONTENT_LENGTH_MISMATCH, CHECKSUM_MISMATCH, FILE_TOO_LARGE, RATE_LIMITED
   */
  receive(request: UploadRequest): Promise<void>
  /** null: there is no such file. */
  open(fileId: string): Promise<OpenFile | null>
}

/** What the quota hook decides on. */
export type QuotaRequest = Readonly<{
  teamId: string
  /** Of the file that is about to be stored. */
  bytes: number
  /** Of the files that the team has. */
  teamBytes: number
}>
