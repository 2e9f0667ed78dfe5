/**
 * `/v1/sessions`: what a session holds, what its model is shown of it, and every original.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import * as z from "zod";
import { SelvageError } from "../../core/errors.ts";
import { callsOf, type StoredView } from "../../compaction/context.ts";
import { originalText, pageOf, parseRef, searchOriginals } from "../../compaction/originals.ts";
import { branchesOf, branchOf, segmentsOf } from "../../loop/branches.ts";
import { inspectContext } from "../../loop/inspect.ts";
import { readyAgent } from "../../loop/ready.ts";
import { isPaused, pendingCalls } from "../../loop/pause.ts";
import type { Entry, SessionHead, SessionKey } from "../../ports.ts";
import type { AppEnv } from "../env.ts";
import type { TurnHost } from "../host.ts";
import type { AppOptions } from "../options.ts";
import { readSession, sessionKeyOf, sessionNotFound } from "../session_key.ts";
import { parseUrl, wholeNumber } from "../url.ts";

/** Entries in one page of `/messages`. */
const PAGE = 1_000;

/** Characters of one page of a text, and hits of a search, where none are asked for. */
const PAGE_CHARACTERS = 65_536;
const HITS = 100;

const listQuery = z.object({ limit: wholeNumber.exactOptional(), after: z.string().exactOptional() });
const messagesQuery = z.object({ from: wholeNumber.exactOptional() });
const pageQuery = z.object({
  search: z.string().min(1).max(500).exactOptional(),
  offset: wholeNumber.exactOptional(),
  limit: wholeNumber.refine((limit) => limit >= 1 && limit <= 10_000_000, "wanted 1 to 10000000")
    .exactOptional(),
});

/** An entry as clients see it: with its reference and those of its calls. */
function present(entry: Entry): Record<string, unknown> {
  const calls = callsOf(entry);
  return { ref: `e${entry.seq}`, ...entry, ...(calls.length > 0 ? { calls } : {}) };
}

/** A session as lists show it. */
function summaryOf({ session }: SessionKey, head: SessionHead): Record<string, unknown> {
  return {
    session,
    agent: head.agent,
    entries: head.length,
    view: head.view,
    flag: head.flag ?? null,
    // A lease may outlive its turn by a crash; its end tells.
    running: head.lease === undefined || isPaused(head.lease)
      ? null
      : { turn: head.lease.turn, until: head.lease.expires },
    paused: head.lease !== undefined && isPaused(head.lease)
      ? { turn: head.lease.turn, pending: head.lease.pause?.pending }
      : null,
    createdAt: head.createdAt,
    updatedAt: head.updatedAt,
  };
}

/** A session by itself: with its branches. */
function detailsOf(key: SessionKey, head: SessionHead): Record<string, unknown> {
  const branches = branchesOf(head).map(({ parent, at, length }, branch) => ({
    branch,
    parent,
    at,
    entries: length,
  }));
  return { ...summaryOf(key, head), branch: branchOf(head), branches };
}

/** Values as lines of JSON, made one by one as they are read. */
function jsonLines(values: readonly unknown[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= values.length) return controller.close();
      controller.enqueue(encoder.encode(`${JSON.stringify(values[at++])}\n`));
    },
  });
}

/** Routes that list, show, export and delete sessions. */
export function sessionRoutes(options: AppOptions, host: TurnHost): Hono<AppEnv> {
  const { store, agents, clock } = options;
  const app = new Hono<AppEnv>();

  const load = (c: Context<AppEnv>) => readSession(c, { store });

  /** What the branches own that are not in force, each as it was left. */
  async function others(key: SessionKey, head: SessionHead): Promise<readonly unknown[]> {
    const lines: unknown[] = [];
    for (const [branch, { at }] of branchesOf(head).entries()) {
      if (branch === branchOf(head)) continue;
      const state = await store.read(key, { branch });
      // The log in force has its first entries already, where it goes on from it.
      const shared = segmentsOf(head).find((segment) => segment.branch === branch)?.to ?? at;
      for (const entry of state?.entries.slice(shared) ?? []) lines.push({ branch, ...present(entry) });
      if (state?.view != null) {
        lines.push({ kind: "view", branch, version: state.head.view, view: state.view });
      }
    }
    return lines;
  }

  app.get("/", async (c) => {
    const { sessions, next } = await store.list(c.get("principal"), parseUrl(c, listQuery));
    return c.json({ sessions: sessions.map(({ key, head }) => summaryOf(key, head)), next });
  });

  app.get("/:id", async (c) => {
    const { key, head, entries } = await load(c);
    const details = detailsOf(key, head);
    const { lease } = head;
    if (!isPaused(lease) || lease === undefined) return c.json(details);
    const pending = pendingCalls(lease.pause?.pending ?? [], entries);
    return c.json({ ...details, paused: { turn: lease.turn, pending } });
  });

  app.get("/:id/export", async (c) => {
    const { key, head, entries, view } = await load(c);
    const lines = jsonLines([
      { kind: "session", ...detailsOf(key, head), schema: head.schema },
      ...entries.map(present),
      ...(view === null ? [] : [{ kind: "view", version: head.view, view }]),
      ...await others(key, head),
    ]);
    return new Response(lines, {
      headers: {
        "content-type": "application/x-ndjson",
        "content-disposition": `attachment; filename="${key.session.replaceAll(":", "_")}.jsonl"`,
      },
    });
  });

  app.get("/:id/messages", async (c) => {
    const { key, entries } = await load(c);
    const { from = 0 } = parseUrl(c, messagesQuery);
    const page = entries.slice(from, from + PAGE);
    const next = from + PAGE < entries.length ? from + PAGE : null;
    return c.json({ session: key.session, total: entries.length, next, entries: page.map(present) });
  });

  app.get("/:id/context", async (c) => {
    const { key, head, entries, view } = await load(c);
    // Its own may be gone: another one shows as much of the log.
    const agent = agents[head.agent] ?? host.agentNamed("default", "show");
    const { signal: clientSignal } = c.req.raw;
    return await host.work({ action: "show the context", clientSignal }, async (signal) => {
      const context = await inspectContext({
        agent: await readyAgent(agent, { key, signal, clock }),
        head,
        entries,
        view: view as StoredView | null,
      });
      return c.json({ session: key.session, ...context });
    });
  });

  app.get("/:id/entries/:ref", async (c) => {
    const key = sessionKeyOf(c);
    const name = c.req.param("ref");
    const ref = parseRef(name);
    const missing = new SelvageError(
      "entry_not_found",
      `Cannot find the entry ${
        JSON.stringify(name.slice(0, 40))
      }: wanted the ref of an entry (e41), of a call (e41.0) or of a range (e3..e17) that is in the log`,
    );
    if (ref === null) throw missing;
    const asked = parseUrl(c, pageQuery);
    const isWhole = Object.keys(asked).length === 0;
    if (isWhole && ref.kind === "entry") {
      // The log in force gives one entry by itself; that of another branch has to be put together.
      const entry = c.req.query("branch") === undefined
        ? await store.entry(key, ref.seq)
        : (await load(c)).entries[ref.seq];
      if (entry == null) throw missing;
      return c.json(present(entry));
    }
    const { entries } = await load(c);
    if (isWhole && ref.kind === "call") {
      const entry = entries[ref.seq];
      const call = entry && callsOf(entry).find((found) => found.ref === ref.ref);
      if (call === undefined) throw missing;
      const result = entries.find((found) => found.kind === "result" && found.call === ref.ref);
      return c.json({ ...call, result: result === undefined ? null : present(result) });
    }
    const text = originalText(entries, ref);
    if (text === null) throw missing;
    const { search, offset = 0, limit } = asked;
    if (search === undefined) {
      const page = pageOf(text, { offset, limit: limit ?? PAGE_CHARACTERS });
      return c.json({ ref: name, ...page, next: page.end < page.total ? page.end : null });
    }
    const most = offset + (limit ?? HITS);
    const { hits, searchedTo } = searchOriginals(entries, { search, ref, most });
    const next = hits.length === most ? most : null;
    return c.json({ ref: name, search, hits: hits.slice(offset), next, searchedTo });
  });

  app.delete("/:id", async (c) => {
    const key = sessionKeyOf(c);
    await host.endSession(key);
    if (!(await store.delete(key))) throw sessionNotFound(key.session);
    return c.body(null, 204);
  });

  return app;
}
