import assert from "node:assert/strict";
import fc from "fast-check";
import { EMPTY_VIEW, type StoredView } from "../../src/compaction/context.ts";
import type { ForeignMessage } from "../../src/compaction/import.ts";
import { prefixChain } from "../../src/compaction/prefix_chain.ts";
import { RememberedViews, withRemembered } from "../../src/compaction/remembered_views.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { contextOf, session } from "../support/entries.ts";
import { runs } from "../support/runs.ts";

const said = (content: unknown, rest: object = {}): ForeignMessage => ({ role: "user", content, ...rest });
const history = Array.from({ length: 40 }, (_, index) => said(`message ${index}`));

/** A view that is told by its cut. */
const viewAt = (cut: number): { view: StoredView; caps: [] } => ({
  view: { ...EMPTY_VIEW, version: 1, cut },
  caps: [],
});

const same: readonly { readonly what: string; readonly a: ForeignMessage; readonly b: ForeignMessage }[] = [
  {
    what: "the order of fields",
    a: { role: "user", content: [{ type: "text", text: "a" }] },
    b: { content: [{ text: "a", type: "text" }], role: "user" },
  },
  { what: "the form of a text", a: said("a"), b: said([{ type: "text", text: "a" }]) },
  { what: "fields without a value", a: said("a"), b: said("a", { name: undefined }) },
  {
    what: "a cache mark on the message",
    a: said("a"),
    b: said("a", { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } }),
  },
  {
    what: "a cache mark on a part",
    a: said([{ type: "text", text: "a", providerOptions: { x: { id: 1 } } }]),
    b: said([{
      type: "text",
      text: "a",
      providerOptions: { x: { id: 1 }, bedrock: { cachePoint: { type: "default" } } },
    }]),
  },
  {
    what: "the object that bytes come in",
    a: said([{ type: "image", image: new Uint8Array([1, 2]) }]),
    b: said([{ type: "image", image: new Uint8Array([1, 2]).buffer }]),
  },
];

Deno.test.each(same)("prefixChain() gives the same name whatever $what", async ({ a, b }) => {
  assert.deepEqual(await prefixChain([a, history[0]!]), await prefixChain([b, history[0]!]));
});

const other: readonly { readonly what: string; readonly a: ForeignMessage; readonly b: ForeignMessage }[] = [
  { what: "texts", a: said("a"), b: said("b") },
  { what: "roles", a: said("a"), b: { role: "assistant", content: "a" } },
  {
    what: "signatures",
    a: said([{ type: "reasoning", text: "a", providerOptions: { anthropic: { signature: "s" } } }]),
    b: said([{ type: "reasoning", text: "a", providerOptions: { anthropic: { signature: "t" } } }]),
  },
  {
    what: "arguments that are called as options are",
    a: said([{ type: "tool-call", input: { providerOptions: { cacheControl: 1 } } }]),
    b: said([{ type: "tool-call", input: { providerOptions: { cacheControl: 2 } } }]),
  },
  {
    what: "bytes",
    a: said([{ type: "image", image: new Uint8Array([1, 2]) }]),
    b: said([{ type: "image", image: new Uint8Array([1, 3]) }]),
  },
];

Deno.test.each(other)("prefixChain() tells different $what apart", async ({ a, b }) => {
  assert.notDeepEqual(await prefixChain([a]), await prefixChain([b]));
});

Deno.test("prefixChain() names a prefix by itself: what follows does not count, what comes before does", async () => {
  const names = await prefixChain(history);
  assert.deepEqual(await prefixChain(history.slice(0, 7)), names.slice(0, 7));
  assert.equal(new Set(names).size, names.length);
  const [first, ...rest] = history;
  assert.ok(!(await prefixChain([...rest, first!])).some((name) => names.includes(name)));
  assert.notDeepEqual(await prefixChain(history, "another agent"), names);
});

Deno.test("prefixChain() gives copies the names of the originals", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue()), async (contents) => {
      const messages = contents.map((content) => said(content));
      assert.deepEqual(await prefixChain(structuredClone(messages)), await prefixChain(messages));
    }),
    runs(),
  );
});

Deno.test("prefixChain() names a message anew that was given another content", async () => {
  const message = { role: "user", content: "a" };
  const [before] = await prefixChain([message]);
  message.content = "b";
  assert.notEqual((await prefixChain([message]))[0], before);
});

Deno.test("RememberedViews finds the view of the longest prefix that has one", async () => {
  const names = await prefixChain(history);
  const views = new RememberedViews();
  assert.equal(await views.find(names), null);
  await views.remember(names[9]!, viewAt(5));
  await views.remember(names[19]!, viewAt(12));
  assert.deepEqual(await views.find(names), { ...viewAt(12), messages: 20 });
  assert.deepEqual(await views.find(names.slice(0, 19)), { ...viewAt(5), messages: 10 });
  const forked = await prefixChain([...history.slice(0, 15), said("something else"), ...history.slice(16)]);
  assert.deepEqual(await views.find(forked), { ...viewAt(5), messages: 10 });
});

Deno.test("RememberedViews are found in a store by another process, and by nobody else", async () => {
  const store = memoryStore();
  const names = await prefixChain(history);
  const owner = { tenant: "acme", user: "ann" };
  await new RememberedViews({ store, owner }).remember(names[3]!, viewAt(2));
  await new RememberedViews({ store, owner }).remember(names[21]!, viewAt(9));
  const found = await new RememberedViews({ store, owner }).find(names);
  assert.deepEqual(found, { ...viewAt(9), messages: 22 });
  assert.equal(await new RememberedViews({ store, owner: { tenant: "acme" } }).find(names), null);
  // What is longer in the store counts before what is in memory.
  const views = new RememberedViews({ store, owner });
  await views.remember(names[5]!, viewAt(3));
  assert.equal((await views.find(names))?.messages, 22);
});

Deno.test("RememberedViews keep the first of two views of one prefix, in every process", async () => {
  const store = memoryStore();
  const [name] = await prefixChain(history);
  const [one, two] = [new RememberedViews({ store }), new RememberedViews({ store })];
  assert.deepEqual(await one.remember(name!, viewAt(1)), viewAt(1));
  assert.deepEqual(await two.remember(name!, viewAt(7)), viewAt(1));
  assert.deepEqual(await two.find([name!]), { ...viewAt(1), messages: 1 });
});

Deno.test("RememberedViews forget in memory what was used longest ago", async () => {
  const views = new RememberedViews({ max: 2 });
  await views.remember("a", viewAt(1));
  await views.remember("b", viewAt(2));
  await views.find(["a"]);
  await views.remember("c", viewAt(3));
  assert.equal(await views.find(["b"]), null);
  assert.equal((await views.find(["a"]))?.view.cut, 1);
});

Deno.test("RememberedViews go on in memory where the store fails, and say so", async () => {
  const errors: unknown[] = [];
  const store = { claim: () => Promise.reject(new Error("the disk is full")) };
  const views = new RememberedViews({ store, onError: (error) => errors.push(error) });
  await views.remember("a", viewAt(1));
  assert.equal((await views.find(["a", "b"]))?.messages, 1);
  assert.equal(errors.length, 2);
  await assert.rejects(new RememberedViews({ store }).find(["a"]), /the disk is full/);
});

Deno.test("RememberedViews take a record of another shape for none", async () => {
  const store = { claim: () => Promise.resolve({ view: { cut: "x" } }) };
  assert.equal(await new RememberedViews({ store }).find(["a"]), null);
});

const log = session([{ count: 2 }, { count: 1 }, { count: 1 }]);
const views: readonly {
  readonly what: string;
  readonly view: Partial<StoredView>;
  readonly fits: boolean;
}[] = [
  { what: "between rounds", view: { cut: 4 }, fits: true },
  { what: "between rounds, with the task", view: { cut: 4, pinned: [0] }, fits: true },
  { what: "inside a round", view: { cut: 3 }, fits: false },
  { what: "behind a call that a pin keeps", view: { cut: 4, pinned: [1] }, fits: false },
  { what: "beyond the log", view: { cut: 99 }, fits: false },
];

Deno.test.each(views)("withRemembered() says whether a view that cuts $what fits", async ({ view, fits }) => {
  const found = { view: { ...EMPTY_VIEW, version: 1, ...view }, caps: [[7, 200]] as const };
  const { entries, view: used } = withRemembered(log, found);
  assert.equal(used !== null, fits);
  const capped = entries.filter((entry) => entry.kind === "result" && entry.cap !== undefined);
  assert.deepEqual(capped.map(({ seq }) => seq), [7]);
  await contextOf(entries, used);
});
