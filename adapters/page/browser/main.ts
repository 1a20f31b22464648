// Starts the page.
import { failedAnswer, jsonOf } from '../../../src/client/answers.js'
import { Api } from './api.js'
import { messageOf, start } from './dom.js'
import { openHealth } from './health-view.js'
import { openImport } from './import-view.js'
import type { PageSession } from './session.js'
import { type OpenView, Shell } from './shell.js'
import { askForKey, forgetKey, keepSession, keptKey, keptSession, showDeadEnd } from './sign-in.js'
import { openStored } from './stored-view.js'
import { openTable } from './table-view.js'
import { openTables } from './tables-view.js'

const VIEWS: Readonly<Record<string, OpenView>> = {
  tables: openTables,
  table: openTable,
  import: openImport,
  stored: openStored,
  health: openHealth,
}

async function open(): Promise<void> {
  const url = location.origin + location.pathname.replace(/\/[^/]*$/, '')
  const session = await sessionOf(url)
  if (session.mode === 'session') {
    keepSession(session.key)
    return show(new Api(url, session.key, null), session)
  }
  const key = keptKey()
  if (key !== undefined) return show(new Api(url, key, undefined), session)
  askForKey(
    (given) => new Api(url, given, undefined).tables(),
    (given) => show(new Api(url, given, undefined), session),
  )
}

/** What `rowstash open` prints behind the address of the page. Browsers do not send it. */
const TOKEN = /^#token=([\w-]+)$/

/** The session that the token of the address begins, or that this tab has. */
async function sessionOf(url: string): Promise<PageSession> {
  const [, token] = TOKEN.exec(location.hash) ?? []
  // It works once: without it, the address can be opened again in this tab, and be copied.
  if (token !== undefined) history.replaceState(null, '', location.pathname)
  const given = token ?? keptSession()
  const answer = await fetch(`${url}/page/session`, {
    method: token === undefined ? 'GET' : 'POST',
    ...(given !== undefined && { headers: { authorization: `Bearer ${given}` } }),
  })
  if (!answer.ok) throw (await failedAnswer(answer, answer.url, url)).failure
  return (await jsonOf(answer)) as PageSession
}

function show(api: Api, session: PageSession): void {
  const signOut = (): void => {
    forgetKey()
    location.reload()
  }
  new Shell(api, session, VIEWS, signOut).open()
}

addEventListener('hashchange', () => {
  if (TOKEN.test(location.hash)) location.reload() // A new address was opened in the tab of an old one.
})
start(open(), (failure) => showDeadEnd(messageOf(failure), () => location.reload()))
