// The path of an object's file: FORMAT.md, section 1.
//
//     <directory>/<first 16 digits of the id>/<next 13 digits>/<id>
//
// So up to 4,096 consecutive IDs of one incarnation share a folder.
import { sep } from 'node:path'
import type { ObjectId } from '../../src/objects/objects.js'

const OUTER_DIGITS = 16
const INNER_DIGITS = 13

/** The patterns of folder names. Only these folders have such names. */
export const OUTER_PATTERN = /^[0-9a-f]{16}$/
export const INNER_PATTERN = /^[0-9a-f]{13}$/

/** @param id - Already checked: no name comes from outside. */
export function objectPath(directory: string, id: ObjectId): string {
  const outer = id.slice(0, OUTER_DIGITS)
  const inner = id.slice(OUTER_DIGITS, OUTER_DIGITS + INNER_DIGITS)
  return `${directory}${sep}${outer}${sep}${inner}${sep}${id}`
}
