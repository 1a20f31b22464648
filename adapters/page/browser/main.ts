// Starts the page.
import { messageOf } from '../../../src/base/shown-text.js'
import { failedAnswer, readAnswerJson } from '../../../src/client/answers.js'
import { Api } from './base/api.js'
import { start } from './base/dom.js'
import type { PageSession } from './base/session.js'
import { openHealth } from './views/health-view.js'
import { openImport } from './views/import-view.js'
import { type OpenView, Shell } from './views/shell.js'
import {
  askForKey,
  forgetKey,
  keepSession,
  keptKey,
  keptSession,
  showDeadEnd,
} from './views/sign-in.js'
import { openStored } from './views/stored-view.js'
import { openTable } from './views/table-view.js'
import { openTables } from './views/tables-view.js'

const VIEWS: Readonly<Record<string, OpenView>> = {
  tables: openTables,
  table: openTable,
  import: openImport,
  stored: openStored,
  health: openHealth,
}

async function openSession(): Promise<void> {
  const url = location.origin + location.pathname.replace(/\/[^/]*$/, '')
  const session = await sessionOf(url)
  if (session.mode === 'session') {
    keepSession(session.key)
    return showShell(new Api(url, session.key, null), session)
  }
  const key = keptKey()
  if (key !== undefined) return showShell(new Api(url, key, undefined), session)
  askForKey(
    (given) => new Api(url, given, undefined).tables(),
    (given) => showShell(new Api(url, given, undefined), session),
  )
}

/** The part that `rowstash open` prints after the address of the page. Browsers do not send it. */
const TOKEN = /^#token=([\w-]+)$/

/** The session that the address's token begins, or the session of this tab. */
async function sessionOf(url: string): Promise<PageSession> {
  const [, token] = TOKEN.exec(location.hash) ?? []
  // It works once. Without it, the address can be reopened in this tab, and copied.
  if (token !== undefined) history.replaceState(null, '', location.pathname)
  const given = token ?? keptSession()
  const answer = await fetch(`${url}/page/session`, {
    method: token === undefined ? 'GET' : 'POST',
    ...(given !== undefined && { headers: { authorization: `Bearer ${given}` } }),
  })
  if (!answer.ok) throw (await failedAnswer(answer, answer.url, url)).failure
  return (await readAnswerJson(answer)) as PageSession
}

function showShell(api: Api, session: PageSession): void {
  const signOut = (): void => {
    forgetKey()
    location.reload()
  }
  new Shell(api, session, VIEWS, signOut).open()
}

addEventListener('hashchange', () => {
  if (TOKEN.test(location.hash)) location.reload() // A new address was opened in the tab of an old one.
})
start(openSession(), (failure) => showDeadEnd(messageOf(failure), () => location.reload()))
