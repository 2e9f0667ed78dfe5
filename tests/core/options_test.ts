import { equal, rejects, throws } from "node:assert/strict";
import * as z from "zod";
import { compactSteps } from "../../src/ai_sdk/mod.ts";
import { createClient } from "../../src/client/mod.ts";
import { sayValue } from "../../src/core/options.ts";
import {
  aiSdk,
  anthropic,
  apiKeys,
  createApp,
  defineTool,
  fallback,
  jwt,
  kvStore,
  lineLog,
  mcpTools,
  memoryStore,
  openAccess,
  openaiChat,
  openaiResponses,
  runTurn,
  scripted,
  trustedHeader,
  workspaceTools,
} from "../../src/mod.ts";
import { compactTranscript, readTranscript } from "../../src/transcripts.ts";

const model = scripted({ script: () => ({ text: "Hello." }) });
const store = memoryStore();
/** What is said of a name that no agent can have. */
const NAME =
  /make the app: found an agent of the name ".*", wanted 1 to 128 characters, none of them a blank or a control character/;
const tool = { name: "add", description: "Adds", input: z.object({}), execute: () => "" };

const languageModel = {
  specificationVersion: "v4",
  provider: "example",
  modelId: "m",
  doStream: () => Promise.reject(new Error("not asked")),
};

// deno-lint-ignore no-explicit-any -- What a caller in JavaScript can write.
const make: Record<string, (options: any) => unknown> = {
  app: (options) => createApp({ agents: { default: { model } }, store, ...options }),
  agent: (agent) => createApp({ agents: { default: agent }, store }),
  tool: (options) => defineTool({ ...tool, ...options }),
  steps: (options) => compactSteps(options),
  client: (options) => createClient(options),
  openaiChat: (options) => openaiChat({ model: "m", ...options }),
  openaiResponses: (options) => openaiResponses({ model: "m", ...options }),
  anthropic: (options) => anthropic({ model: "m", ...options }),
  aiSdk: (options) => aiSdk(languageModel, options),
  scripted: (options) => scripted(options),
  fallback: (models) => fallback(models),
  memoryStore: (options) => memoryStore(options),
  servers: (servers) => mcpTools(servers),
  mcpTools: (options) => mcpTools({}, options),
  workspace: (options) => workspaceTools(options),
  log: (options) => lineLog(options),
  jwt: (options) => jwt({ jwks: { keys: [] }, issuer: "https://i.example/", audience: "a", ...options }),
  openAccess: (options) => openAccess(options),
  trustedHeader: (options) => trustedHeader("x-user", ["10.0.0.2"], options),
  header: (name) => trustedHeader(name, ["10.0.0.2"]),
  proxies: (proxies) => trustedHeader("x-user", proxies),
  apiKeys: (keys) => apiKeys(keys),
  languageModel: (model) => aiSdk(model),
  compact: (options) => compactTranscript(readTranscript([{ role: "user", content: "Hi" }]), options),
};

Deno.test.each(
  [
    [
      "agent",
      { model, maxStep: 1 },
      /make the agent default: maxStep: found an option that nobody knows, wanted only model, system,/,
    ],
    ["agent", { model, compactAT: 0.1 }, /compactAT: found an option that nobody knows/],
    [
      "agent",
      { model, compaction: { compactAT: 0.1 } },
      /compaction\.compactAT: found an option that nobody knows, wanted only compactAt, stopAt/,
    ],
    [
      "agent",
      { model, compaction: { compactAt: "0.5" } },
      /compaction\.compactAt: found "0\.5", wanted a share of the usable window/,
    ],
    [
      "agent",
      { model, compactionLimits: { stopAt: 0.9 } },
      /compactionLimits\.stopAt: found 0\.9, wanted the least and the most share/,
    ],
    ["agent", { model, tools: [1] }, /tools\[0\]: found 1, wanted a tool, as defineTool\(\) makes it/],
    ["agent", { model, tools: { add: 1 } }, /tools\.add: found 1, wanted a tool of the AI SDK/],
    [
      "agent",
      { model, tools: "add" },
      /tools: found "add", wanted a list of tools, or a tool set of the AI SDK, or a function/,
    ],
    ["agent", { model, maxSteps: "50" }, /maxSteps: found "50", wanted a whole number of steps, 1 or more/],
    ["agent", { model, maxSteps: 0 }, /maxSteps: found 0, wanted/],
    ["agent", { model, recall: 0 }, /recall: found 0, wanted true or false/],
    ["agent", { model, system: 5 }, /system: found 5, wanted text/],
    ["agent", { model, summarizer: "same" }, /summarizer: found a model without a stream/],
    ["agent", {}, /model: found no model, wanted one such as openaiChat\(\)/],
    ["agent", null, /make the agent default: found null, wanted an object with model/],
    ["app", { agents: [] }, /agents: found an empty list, wanted agents by name/],
    ["app", { agents: undefined }, /agents: found nothing, wanted agents by name/],
    ...["", " x", "my agent", "a\nb", "x".repeat(129)].map((name) =>
      ["app", { agents: { default: { model }, [name]: { model } } }, NAME] as const
    ),
    [
      "app",
      { store: "memory" },
      /make the app: store: found "memory", wanted a store, such as memoryStore\(\)/,
    ],
    ["app", { auht: () => null }, /auht: found an option that nobody knows, wanted only agents, store/],
    ["app", { limits: { turnPerMinute: 5 } }, /limits\.turnPerMinute: found an option that nobody knows/],
    [
      "app",
      { limits: { concurrentTurns: 501 } },
      /limits\.concurrentTurns: found 501, wanted a number over 0, up to 500/,
    ],
    [
      "app",
      { cors: "https://app.example" },
      /cors: found "https:\/\/app\.example", wanted a list of origins/,
    ],
    ["tool", { excute: () => "" }, /define the tool add: excute: found an option that nobody knows/],
    [
      "tool",
      { input: { type: "object" } },
      /define the tool add: input: found an object, wanted a zod schema/,
    ],
    ["tool", { name: 5 }, /define the tool: name: found 5, wanted text/],
    ["tool", { description: undefined }, /description: found nothing, wanted text/],
    ["tool", { sideEffect: "none at all" }, /sideEffect: found "none at all", wanted "none" or "some"/],
    ["steps", undefined, /make compactSteps\(\): found nothing, wanted an object with window/],
    [
      "steps",
      {},
      /window: found nothing, wanted the tokens that request and answer can have together: a whole number/,
    ],
    ["steps", { window: "8k" }, /window: found "8k", wanted/],
    ["steps", { window: 8_000, bogus: 1 }, /bogus: found an option that nobody knows, wanted only compactAt/],
    ["steps", { window: 8_000, pin: true }, /pin: found true, wanted a function/],
    [
      "steps",
      { window: 8_000, verbatimArgs: { read: "path" } },
      /verbatimArgs\.read: found "path", wanted a list of arguments/,
    ],
    ["steps", { window: 8_000, owner: { tenent: "a" } }, /owner\.tenent: found an option that nobody knows/],
    ["client", undefined, /make the client: found nothing, wanted an object with url/],
    ["client", {}, /url: found nothing, wanted the address of the service/],
    ["client", { url: "http://x", apikey: "k" }, /apikey: found an option that nobody knows/],
    ["client", { url: "http://x", maxTries: 0 }, /maxTries: found 0, wanted a whole number of tries/],
    ["openaiChat", { baseUrl: "http://x" }, /make the model: baseUrl: found an option that nobody knows/],
    ["openaiChat", { model: undefined }, /make the model: model: found nothing, wanted a name/],
    ["openaiChat", { model: "" }, /make the model: model: found "", wanted a name/],
    ["openaiChat", { window: "128000" }, /window: found "128000", wanted a number/],
    ["openaiChat", { headers: { "x-a": 1 } }, /headers\.x-a: found 1, wanted text/],
    ["openaiChat", { fetch: "fetch" }, /fetch: found "fetch", wanted a function/],
    [
      "openaiResponses",
      { reasoning: "low" },
      /reasoning: found "low", wanted an object with effort, summary/,
    ],
    [
      "openaiResponses",
      { providerTools: { type: "web_search" } },
      /providerTools: found an object, wanted a list of tools in the provider's own form/,
    ],
    ["anthropic", { thinking: { budget: 1 } }, /thinking\.budget: found an option that nobody knows/],
    ["anthropic", { cache: "no" }, /cache: found "no", wanted true or false/],
    ["aiSdk", { model: "m" }, /model: found an option that nobody knows/],
    [
      "aiSdk",
      { providerOptions: { openai: 1 } },
      /providerOptions\.openai: found 1, wanted settings by name/,
    ],
    ["languageModel", "gpt-5", /make the model: found "gpt-5", wanted a language model of the AI SDK/],
    ["languageModel", undefined, /make the model: found nothing, wanted a language model of the AI SDK/],
    ["languageModel", { ...languageModel, modelId: 5 }, /found an object, wanted a language model of the AI/],
    ["scripted", {}, /script: found nothing, wanted a function/],
    ["scripted", { script: () => ({}), window: 0 }, /window: found 0, wanted tokens, over 0/],
    ["fallback", [model, {}], /make a model with fallbacks: \[1\]: found a model without a stream/],
    ["memoryStore", { path: "a" }, /make the store: path: found an option that nobody knows/],
    ["servers", { a: { url: "http://x", header: {} } }, /use MCP servers: a\.header: found an option that/],
    ["servers", { a: { url: "http://x", timeoutMs: "5s" } }, /a\.timeoutMs: found "5s", wanted milliseconds/],
    ["mcpTools", { tool: [] }, /tool: found an option that nobody knows, wanted only tools, say, clock/],
    ["workspace", { latencyMs: -1 }, /latencyMs: found -1, wanted milliseconds, 0 or more/],
    ["log", { level: "warning" }, /make the log: level: found "warning", wanted "debug" or "info" or/],
    [
      "jwt",
      { audience: undefined },
      /check tokens: audience: found nothing, wanted text, or a list of texts/,
    ],
    ["jwt", { jwks: { key: [] } }, /jwks\.keys: found nothing, wanted a list of keys/],
    ["jwt", { jwks: { keys: [1] } }, /jwks\.keys\[0\]: found 1, wanted a JSON Web Key/],
    ["jwt", { userClaim: "" }, /userClaim: found "", wanted a name/],
    ["trustedHeader", { tenant: "" }, /tenant: found "", wanted a name/],
    ["jwt", { clockTolerance: "30s" }, /clockTolerance: found "30s", wanted seconds, 0 to 3600/],
    ["jwt", { clockTolerance: Infinity }, /clockTolerance: found Infinity, wanted seconds, 0 to 3600/],
    ["openAccess", { origins: "http://x" }, /origins: found "http:\/\/x", wanted a list of origins/],
    ["trustedHeader", { tenants: "a" }, /tenants: found an option that nobody knows/],
    [
      "jwt",
      { jwks: "keys.json" },
      /jwks: found "keys\.json", wanted the address of a set of keys, or the set/,
    ],
    ["jwt", { issuer: undefined }, /issuer: found nothing, wanted text, or a list of texts/],
    ["jwt", { issuer: "" }, /issuer: found "", wanted text, or a list of texts, none of them empty/],
    ["jwt", { audience: [] }, /audience: found an empty list, wanted text, or a list of texts, none of them/],
    ["jwt", { audience: ["a", ""] }, /audience: found a list, wanted text, or a list of texts, none of them/],
    ["trustedHeader", { tenantHeader: "x org" }, /tenantHeader: found "x org", wanted the name of a header/],
    ["header", undefined, /trust a header: name: found nothing, wanted the name of a header/],
    ["proxies", "10.0.0.2", /trust a header: proxies: found "10\.0\.0\.2", wanted a list of addresses/],
    [
      "proxies",
      ["::1", null],
      /proxies\[1\]: found null, wanted an address or a range such as 10\.0\.0\.0\/8/,
    ],
    ["apiKeys", undefined, /use API keys: found nothing, wanted keys by the names of their tenants/],
    ["apiKeys", { acme: ["a-key-of-acme-16", 5] }, /use API keys: acme\[1\]: found 5, wanted text/],
    ["apiKeys", { acme: 5 }, /use API keys: acme: found 5, wanted a key, or a list of keys/],
    ["compact", { budget: 100, pin: [0] }, /compact the transcript: pin: found an option that nobody knows/],
    ["compact", { budget: 100, policy: "forward" }, /policy: found "forward", wanted "full" or "backward"/],
    ["compact", { budget: 100, lookback: NaN }, /lookback: found NaN, wanted a share of the budget/],
  ] as const,
)("options that nobody knows, or of another kind, are refused: %s %o", (what, options, message) => {
  throws(() => make[what]?.(options), { name: "TypeError", message });
});

Deno.test("options set to undefined are options left out", () => {
  make["agent"]?.({ model, maxSteps: undefined, tools: undefined, compaction: undefined });
  make["steps"]?.({ window: 8_000, store: undefined });
  make["tool"]?.({ timeoutMs: undefined });
  make["anthropic"]?.({ window: undefined, thinking: undefined });
  make["log"]?.({ level: undefined });
});

Deno.test("kvStore() refuses options of another kind before it opens anything", async () => {
  // deno-lint-ignore no-explicit-any -- What a caller in JavaScript can write.
  const open = (options: any) => kvStore(options);
  await rejects(() => open({ file: "x" }), /open Deno KV: file: found an option that nobody knows/);
  await rejects(() => open({ path: new URL("file:///x") }), /path: found an object, wanted text/);
});

Deno.test("a key is in no error, whatever else is wrong with it", () => {
  const headers = "Bearer secret-of-acme";
  const wanted = /: found a text, wanted headers by name/;
  throws(() => make["client"]?.({ url: "http://x", headers }), wanted);
  throws(() => make["openaiChat"]?.({ headers }), wanted);
  throws(() => make["servers"]?.({ a: { url: "http://x", headers } }), wanted);
  throws(() => make["apiKeys"]?.(headers), /API keys: found a text, wanted keys by the names/);
});

Deno.test("runTurn() refuses an agent with options that nobody knows, and stores nothing", async () => {
  const own = memoryStore();
  const agent = { model, maxStep: 1 };
  const events = runTurn({ agent, session: "s1", input: "Hi" }, { store: own });
  await rejects(events.next(), {
    name: "TypeError",
    message: /run the turn: maxStep: found an option that nobody/,
  });
  equal(await own.read({ tenant: "local", session: "s1" }), null);
});

Deno.test.each(
  [
    [undefined, "nothing"],
    [[], "an empty list"],
    [() => 1, "a function"],
    [null, "null"],
    [{}, "an object"],
    [
      "x".repeat(99),
      `"${"x".repeat(60)}…"`,
    ],
  ] as const,
)("sayValue() says a value in a few words: %o", (value, words) => equal(sayValue(value), words));
