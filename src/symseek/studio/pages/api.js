// The server: questions with answers, and the stream of what changes. Every address is relative,
// so that it stays below the token of the page.

/** What went wrong, as a sentence to show. */
export class Refusal extends Error {
  constructor(sentence, status = 0) {
    super(sentence);
    this.status = status;
  }
}

const GONE = "the studio does not answer; it may have ended";

async function answer(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options });
  } catch {
    throw new Refusal(GONE);
  }
  let data = null;
  try {
    data = await response.json();
  } catch {
    if (response.ok) throw new Refusal("the studio gave an answer that cannot be read");
  }
  if (!response.ok) {
    const { status } = response;
    throw new Refusal(data?.error ?? `the studio refused this (${status})`, status);
  }
  return data;
}

function posted(path, data) {
  const headers = { "Content-Type": "application/json" };
  return answer(path, { method: "POST", headers, body: JSON.stringify(data ?? {}) });
}

function sent(path, body) {
  const headers = { "Content-Type": "application/octet-stream" };
  return answer(path, { method: "POST", headers, body });
}

const safe = encodeURIComponent;

function rowsOf(rows) {
  return rows.map((row) => `row=${row}`).join("&");
}

export const api = {
  state: () => answer("api/state"),
  options: () => answer("api/options"),
  table: (name, delimiter) =>
    answer(`api/tables/${safe(name)}${delimiter ? `?delimiter=${safe(delimiter)}` : ""}`),
  addTable: (name, body) => sent(`api/tables?name=${safe(name)}`, body),
  question: (question) => posted("api/question", question),
  start: (question) => posted("api/runs", question),
  run: (run) => answer(`api/runs/${safe(run)}`),
  pause: (run) => posted(`api/runs/${safe(run)}/pause`),
  stop: (run) => posted(`api/runs/${safe(run)}/stop`),
  resume: (run, settings) => posted(`api/runs/${safe(run)}/resume`, { settings }),
  pick: (run, row) => posted(`api/runs/${safe(run)}/pick`, { row }),
  fit: (run, rows) => answer(`api/runs/${safe(run)}/fit?${rowsOf(rows)}`),
  exports: (run, row) => answer(`api/runs/${safe(run)}/exports?row=${row}`),
  tree: (run, row) => answer(`api/runs/${safe(run)}/tree?row=${row}`),
  predict: (run, row, file, drop) => {
    const asked = `row=${row}&name=${safe(file.name)}&drop_missing=${drop}`;
    return sent(`api/runs/${safe(run)}/predict?${asked}`, file);
  },
  openFolder: (run) => posted(`api/runs/${safe(run)}/open-folder`),
  reportAddress: (run) => `api/runs/${safe(run)}/report`,
  fileAddress: (name) => `api/files/${safe(name)}`,
};

const RETRY = 2000; // milliseconds between two attempts to reach a server that is gone
const PATIENCE = 1200; // milliseconds without a stream before that is said
const UNSEEN = 3000; // milliseconds that a hidden tab keeps its stream

/**
 * The event stream of this tab. It comes back by itself; `lost` and `back` say so. A tab that
 * nobody sees has none: browsers open only a few connections to a server, for all tabs together.
 */
export class Stream {
  constructor(handlers) {
    this.handlers = handlers; // {runs, progress, front, lost, back}
    this.run = null;
    this.source = null;
    this.isLost = false;
    document.addEventListener("visibilitychange", () => this.seen());
  }

  seen() {
    clearTimeout(this.unseen);
    if (document.hidden) this.unseen = setTimeout(() => this.close(), UNSEEN);
    else if (!this.source) this.open();
  }

  /** Follow a run, or with null only the list of runs. */
  watch(run) {
    if (this.source && run === this.run) return;
    this.run = run;
    this.open();
  }

  open() {
    this.close();
    if (document.hidden) return;
    const asked = this.run === null ? "" : `?run=${safe(this.run)}`;
    const source = new EventSource(`api/events${asked}`);
    this.source = source;
    source.onopen = () => this.opened();
    source.onerror = () => this.failed();
    for (const name of ["runs", "progress", "front"]) {
      source.addEventListener(name, (event) => this.handlers[name](JSON.parse(event.data)));
    }
  }

  close() {
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
  }

  opened() {
    clearTimeout(this.waiting);
    this.waiting = null;
    if (this.isLost) this.handlers.back();
    this.isLost = false;
  }

  failed() {
    this.close();
    this.retry = setTimeout(() => this.open(), RETRY);
    this.waiting ??= setTimeout(() => {
      this.isLost = true;
      this.handlers.lost();
    }, PATIENCE);
  }
}
