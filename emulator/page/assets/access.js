// The session: a code behind the # of the link is exchanged for it once, and it stays in this tab only.

const KEY = "testbed-page";
const SESSIONS = "/v1/page/sessions";

// The session of this page where the browser keeps no data of sites.
let unkept = null;

/** The server refused; its sentence is the message. */
export class Refused extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

/** The server does not answer. */
export class Lost extends Error {}

/** Use up the code in the address, if there is one; return what there is to see: "testbed" or "run". */
export async function enter() {
  const code = location.hash.slice(1);
  if (code) {
    // The code leaves the address and the history before it is used.
    history.replaceState(null, "", location.pathname + location.search);
    try {
      const opened = await ask(SESSIONS, { method: "POST", body: JSON.stringify({ code }) });
      keep(opened);
    } catch (error) {
      if (!(error instanceof Refused) || session() === null) throw error;
    }
  }
  if (session() === null) throw new Refused("This page has no session. `testbed page` prints a link that opens one.", 401);
  return session().shows;
}

/** Get a JSON value from the server; `hostPatienceS` bounds the wait in host seconds. */
export async function get(path, hostPatienceS = 20) {
  return ask(path, { method: "GET" }, hostPatienceS);
}

function keep(opened) {
  unkept = opened;
  try {
    sessionStorage.setItem(KEY, JSON.stringify(opened));
  } catch {
    // It lasts until the page is loaded again.
  }
}

function session() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? unkept;
  } catch {
    return unkept;
  }
}

async function ask(path, request, hostPatienceS = 20) {
  const headers = request.body ? { "Content-Type": "application/json" } : {};
  if (session() !== null) headers.Authorization = `Bearer ${session().session}`;
  let answer;
  try {
    const signal = AbortSignal.timeout(1000 * hostPatienceS);
    answer = await fetch(path, { ...request, headers, signal, cache: "no-store", credentials: "omit", redirect: "error" });
    if (answer.ok) return await answer.json();
  } catch (error) {
    throw new Lost(String(error));
  }
  if (answer.status === 401 && path !== SESSIONS) throw new Refused("This session is over: `testbed page` prints a new link.", 401);
  let sentence = `The server answered with status ${answer.status}.`;
  try {
    sentence = (await answer.json()).error ?? sentence;
  } catch {
    // No reason was given.
  }
  throw new Refused(sentence, answer.status);
}
