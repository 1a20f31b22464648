// Starts the page.
import { failedAnswer, jsonOf } from '../../../src/client/answers.js'
import { Api } from './api.js'
import { messageOf, start } from './dom.js'
import { openHealth } from './health-view.js'
import { openImport } from './import-view.js'
import type { PageSession } from './session.js'
import { type OpenView, Shell } from './shell.js'
import { askForKey, forgetKey, keptKey, showDeadEnd } from './sign-in.js'
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

/** The header of requests of a session. The server puts its own key in its place. */
const NO_KEY = 'session'

async function open(): Promise<void> {
  // The token of the address is used up; without it, the address can be opened again and be copied.
  if (location.search !== '') history.replaceState(null, '', location.pathname + location.hash)
  const url = location.origin + location.pathname.replace(/\/[^/]*$/, '')
  const answer = await fetch(`${url}/page/session`)
  if (!answer.ok) throw (await failedAnswer(answer, answer.url, url)).failure
  const session = (await jsonOf(answer)) as PageSession
  if (session.mode === 'session') return show(new Api(url, NO_KEY, null), session)
  const key = keptKey()
  if (key !== undefined) return show(new Api(url, key, undefined), session)
  askForKey(
    (given) => new Api(url, given, undefined).tables(),
    (given) => show(new Api(url, given, undefined), session),
  )
}

function show(api: Api, session: PageSession): void {
  const signOut = (): void => {
    forgetKey()
    location.reload()
  }
  new Shell(api, session, VIEWS, signOut).open()
}

start(open(), (failure) => showDeadEnd(messageOf(failure), () => location.reload()))
