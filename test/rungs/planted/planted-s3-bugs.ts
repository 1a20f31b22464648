// Bugs that the tests of objects in S3 must find: see planted-bugs.ts.
import type { PlantedBug } from './planted-bugs.js'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'a read of S3 that is too short is returned',
    file: 's3-objects.ts',
    find: 'failureIn: (found) => wrongRange(range, { start, limit: last + 1 }, found),',
    replace:
      'failureIn: (found) => wrongRange(range, { start, limit: start }, found) && undefined,',
  },
  {
    name: 'a put to S3 that fails leaves its object',
    file: 's3-upload.ts',
    find: 'const isGone = !this.#mayShow || (await removeRemains(this.#client, remains))',
    replace: "const isGone = !this.#mayShow || remains.mark !== ''",
  },
  {
    name: 'a put to S3 that fails removes the object of another put',
    file: 's3-upload.ts',
    find: 'if (await isMarked(client, key, mark, true)) {',
    replace: "if ((await isMarked(client, key, mark, true)) || mark !== '') {",
  },
  {
    name: 'an object in S3 that could not be removed after its put failed is listed',
    file: 's3-objects.ts',
    find: 'OBJECT_ID_PATTERN.test(id) && !this.#remains.has(id)',
    replace: 'OBJECT_ID_PATTERN.test(id)',
  },
  {
    name: 'the parts of a put to S3 that fails stay',
    file: 's3-upload.ts',
    find: 'if (uploadId !== undefined) await this.#abort(uploadId)',
    replace: "if (uploadId === '') await this.#abort(uploadId)",
  },
  {
    name: 'a multipart upload whose beginning was not answered stays',
    file: 's3-upload.ts',
    find: 'if (reply.mayHaveHappened) await this.#abortAll()',
    replace: '',
  },
  {
    name: 'a put to S3 whose answer was lost fails because its own object is there',
    file: 's3-upload.ts',
    find: 'if (this.#mayShow && (await isMarked(this.#client, this.#key, this.#mark))) return',
    replace: '',
  },
  {
    name: 'an error of S3 behind a status of 200 is no failure',
    file: 's3-upload.ts',
    find: 'failureIn: lateFailure,',
    replace: 'failureIn: (answer) => lateFailure(answer) && undefined,',
  },
  {
    name: 'a wait that S3 asks for is not waited for',
    file: 's3-client.ts',
    find: 'const waitMs = Math.max(this.#backoff(attempt - 1), failure.retryAfterMs)',
    replace: 'const waitMs = this.#backoff(attempt - 1)',
  },
  {
    name: 'repetitions to S3 wait without jitter',
    file: 'src/base/backoff.ts',
    find: 'return Math.round((readUint32(random.bytes(4), 0) / 2 ** 32) * longest)',
    replace: 'return random.bytes(4).length > 0 ? longest : readUint32(random.bytes(4), 0)',
  },
  {
    name: 'a stream of S3 mixes two contents of one key',
    file: 's3-objects.ts',
    find: 'if (next === null || next.etag !== first.etag || next.total !== first.total) {',
    replace: 'if (next === null) {',
  },
  {
    name: 'a listing of S3 ends at a page of keys of others',
    file: 's3-objects.ts',
    find: 'if (listed.length >= LIST_COUNT_MAX || continuation === undefined) return listed',
    replace: 'if (listed.length >= 0 || continuation === undefined) return listed',
  },
  {
    name: 'a signed URL of S3 is good for any length',
    file: 's3-objects.ts',
    find: "...(contentLength !== null && { 'content-length': String(contentLength) }),",
    replace: "...(contentLength === -1 && { 'content-length': String(contentLength) }),",
  },
]
