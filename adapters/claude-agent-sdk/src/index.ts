/**
 * A SessionStore for the Claude Agent SDK on the sessions of `pare serve`.
 *
 *     import { query } from "@anthropic-ai/claude-agent-sdk";
 *     import { PareSessionStore } from "@pare-llm/claude-agent-sdk";
 *     const sessionStore = new PareSessionStore({ url: "http://127.0.0.1:8811" });
 *     for await (const m of query({ prompt, options: { sessionStore } })) { … }
 *
 * A transcript is one session of Pare, the transcript of a sub-agent a session below it. An entry
 * with a `uuid` is kept once, however often it is sent. A batch is written as a whole or not at
 * all, and is on disk when `append` returns.
 */
import type { SessionKey, SessionStore, SessionStoreEntry } from "@anthropic-ai/claude-agent-sdk";

export interface PareOptions {
  /** Where `pare serve` listens. */
  url: string;
  /** The token of this client; on the same machine none is needed. */
  token?: string;
  /** Takes the place of the global fetch. */
  fetch?: typeof fetch;
}

/** A request that Pare refused. */
export class PareError extends Error {
  constructor(
    readonly status: number,
    readonly type: string,
    message: string,
  ) {
    super(message);
    this.name = "PareError";
  }
}

/** The kind of entries that hold lines of a transcript. */
const kind = "claude-transcript";

interface Entry {
  id: string;
  kind?: string;
  raw?: unknown;
}

interface Session {
  id: string;
  path?: string;
  updated: string;
}

export class PareSessionStore implements SessionStore {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #fetch: typeof fetch;
  /** Appends of this process to one transcript follow each other. */
  readonly #queues = new Map<string, Promise<void>>();

  constructor(options: PareOptions) {
    this.#url = options.url.replace(/\/+$/, "") + "/pare/v1/sessions";
    this.#headers = { "content-type": "application/json" };
    if (options.token !== undefined) this.#headers["authorization"] = `Bearer ${options.token}`;
    this.#fetch = options.fetch ?? fetch;
  }

  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    if (entries.length === 0) return Promise.resolve();
    const name = JSON.stringify([key.projectKey, key.sessionId, key.subpath ?? ""]);
    const before = this.#queues.get(name) ?? Promise.resolve();
    const mine = before.catch(() => {}).then(() => this.#append(key, entries));
    this.#queues.set(name, mine);
    const done = () => {
      if (this.#queues.get(name) === mine) this.#queues.delete(name);
    };
    mine.then(done, done);
    return mine;
  }

  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const all: SessionStoreEntry[] = [];
    try {
      for (let after = ""; ; ) {
        const query: Record<string, string> = { limit: "1000", path: key.subpath ?? "" };
        if (after !== "") query["after"] = after;
        const page = await this.#call<{ entries: Entry[]; next?: string }>("GET", [id(key), "entries"], query);
        for (const e of page.entries) if (e.kind === kind) all.push(e.raw as SessionStoreEntry);
        if (!page.next) break;
        after = page.next;
      }
    } catch (err) {
      if (missing(err)) return null;
      throw err;
    }
    return all.length > 0 ? all : null;
  }

  async listSessions(projectKey: string): Promise<Array<{ sessionId: string; mtime: number }>> {
    const begins = id({ projectKey, sessionId: "" });
    const found: Array<{ sessionId: string; mtime: number }> = [];
    for (let before = ""; ; ) {
      const query: Record<string, string> = { limit: "1000" };
      if (before !== "") query["before"] = before;
      const { sessions } = await this.#call<{ sessions: Session[] }>("GET", [], query);
      for (const s of sessions) {
        before = s.id;
        if (s.id.startsWith(begins)) {
          found.push({ sessionId: decodeURIComponent(s.id.slice(begins.length)), mtime: Math.floor(Date.parse(s.updated)) });
        }
      }
      if (sessions.length < 1000) return found;
    }
  }

  async delete(key: SessionKey): Promise<void> {
    try {
      await this.#call("DELETE", [id(key)], { path: key.subpath ?? "" });
    } catch (err) {
      if (!missing(err)) throw err;
    }
  }

  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    try {
      const { sessions } = await this.#call<{ sessions: Session[] }>("GET", [id(key), "paths"], {});
      return sessions.map((s) => s.path ?? "").filter((path) => path !== "");
    } catch (err) {
      if (missing(err)) return [];
      throw err;
    }
  }

  async #append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    // An entry without a uuid is never the same as another; the id makes a retry safe.
    const list = entries.map((raw) => ({ id: raw.uuid ?? crypto.randomUUID(), kind, raw }));
    try {
      await this.#write(key, list);
    } catch (err) {
      if (!(err instanceof PareError) || err.type !== "not_found") throw err;
      await this.#create(key);
      await this.#write(key, list);
    }
  }

  /** Writes a batch. An entry that is there with other content stays as it is. */
  async #write(key: SessionKey, list: Entry[]): Promise<void> {
    let left = list;
    while (left.length > 0) {
      try {
        await this.#call("POST", [id(key), "entries"], { path: key.subpath ?? "" }, { entries: left });
        return;
      } catch (err) {
        if (err instanceof PareError && err.type === "duplicate" && err.message !== "") {
          const there = (err as PareError & { entry?: string }).entry;
          const rest = left.filter((e) => e.id !== there);
          if (rest.length < left.length) {
            left = rest;
            continue;
          }
        }
        if (err instanceof PareError && err.type === "bad_entry" && new Set(left.map((e) => e.id)).size < left.length) {
          left = [...new Map(left.map((e) => [e.id, e])).values()]; // one uuid twice in a batch
          continue;
        }
        throw err;
      }
    }
  }

  /** Makes the session, and the one that it is below of. */
  async #create(key: SessionKey): Promise<void> {
    for (const path of key.subpath ? ["", key.subpath] : [""]) {
      try {
        await this.#call("POST", [], {}, { id: id(key), path });
      } catch (err) {
        if (!(err instanceof PareError) || err.type !== "exists") throw err;
      }
    }
  }

  async #call<T>(method: string, path: string[], query: Record<string, string>, body?: unknown): Promise<T> {
    const search = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== ""));
    const url = [this.#url, ...path.map(encodeURIComponent)].join("/") + (search.size > 0 ? `?${search}` : "");
    const init: RequestInit = { method, headers: this.#headers };
    if (body !== undefined) init.body = JSON.stringify(body);
    const reply = await this.#fetch(url, init);
    const text = await reply.text();
    if (!reply.ok) {
      let error: { type?: string; message?: string; entry?: string } = {};
      try {
        error = (JSON.parse(text) as { error?: typeof error }).error ?? {};
      } catch {
        // not an answer of Pare
      }
      const failed = new PareError(reply.status, error.type ?? "unknown", error.message ?? `${method} ${url}: status ${reply.status}`);
      throw Object.assign(failed, { entry: error.entry });
    }
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }
}

/** The id of a transcript: the project and the session, with a colon between them. */
function id(key: { projectKey: string; sessionId: string }): string {
  return `${encodeURIComponent(key.projectKey)}:${encodeURIComponent(key.sessionId)}`;
}

function missing(err: unknown): boolean {
  return err instanceof PareError && (err.type === "not_found" || err.type === "deleted");
}
