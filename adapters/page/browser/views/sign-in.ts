// Asks for the API key. It is kept until this tab is closed, and is sent only in a header of requests to this server.
// The key of a session of `rowstash open`, for which nobody is asked, is kept the same way.
import { messageOf } from '../../../../src/base/shown-text.js'
import { isRefused } from '../base/api.js'
import { button, el, fill, setText, start } from '../base/dom.js'
import * as TEXT from '../base/texts.js'

const STORED_KEY = 'rowstash-key'
const STORED_SESSION = 'rowstash-session'

export function keptKey(): string | undefined {
  return sessionStorage.getItem(STORED_KEY) ?? undefined
}

export function forgetKey(): void {
  sessionStorage.removeItem(STORED_KEY)
}

export function keptSession(): string | undefined {
  return sessionStorage.getItem(STORED_SESSION) ?? undefined
}

export function keepSession(key: string): void {
  sessionStorage.setItem(STORED_SESSION, key)
}

/** @param check - Rejects if the key is unknown. */
export function askForKey(
  check: (key: string) => Promise<unknown>,
  onKey: (key: string) => void,
): void {
  const problem = el('p', { class: 'problem', role: 'alert' })
  const input = el('input', {
    type: 'password',
    id: 'key',
    autocomplete: 'off',
    required: true,
    spellcheck: 'false',
  })
  const form = el(
    'form',
    { class: 'signIn' },
    el('h1', {}, 'rowstash'),
    el('label', { for: 'key' }, TEXT.apiKey),
    input,
    el('button', { type: 'submit', class: 'primary' }, TEXT.signIn),
    problem,
    el('p', { class: 'muted' }, TEXT.keyIs),
    el('ul', { class: 'muted' }, ...TEXT.keyPlaces.map((place) => el('li', {}, place))),
    el('p', { class: 'muted' }, TEXT.keyHelp),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const key = input.value.trim()
    const checked = check(key).then(() => {
      sessionStorage.setItem(STORED_KEY, key)
      onKey(key)
    })
    start(checked, (failure) => {
      setText(problem, isRefused(failure) ? TEXT.noSuchKey : messageOf(failure))
      input.select()
    })
  })
  fill(document.body, el('main', { class: 'alone' }, form))
  input.focus()
}

/** Shows why the page cannot be shown. */
export function showDeadEnd(message: string, onAgain: () => void): void {
  const again = button(TEXT.tryAgain, onAgain, { class: 'primary' })
  const content = el(
    'div',
    { class: 'signIn' },
    el('h1', {}, 'rowstash'),
    el('p', {}, message),
    again,
  )
  fill(document.body, el('main', { class: 'alone' }, content))
}
