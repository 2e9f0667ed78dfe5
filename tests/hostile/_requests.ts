/** Requests that no client of good will sends, made from a seed. */
import type { Random } from "../crash/_setup.ts";

/** Bytes in the pieces in which they are sent. */
export interface HostileRequest {
  readonly kind: string;
  readonly pieces: readonly Uint8Array[];
}

const encoder = new TextEncoder();
const HOST = "Host: 127.0.0.1\r\n";
const PATHS = [
  "/v1/turns",
  "/v1/check",
  "/v1/repair",
  "/v1/compact",
  "/v1/turns/x/cancel",
  "/v1/sessions/x",
] as const;

type Make = (random: Random) => string | Uint8Array | readonly (string | Uint8Array)[];

function post(path: string, body: string | Uint8Array, headers = ""): readonly (string | Uint8Array)[] {
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  return [`POST ${path} HTTP/1.1\r\n${HOST}${headers}Content-Length: ${bytes.length}\r\n\r\n`, bytes];
}

/** Text of random bytes, as characters of Latin-1. */
function noise(random: Random, length: number): string {
  return String.fromCharCode(...Array.from({ length }, () => random.below(256)));
}

function noiseBytes(random: Random, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => random.below(256));
}

const path = (random: Random): string => random.pick(PATHS);

/** Each kind with a maker. */
const KINDS: Readonly<Record<string, Make>> = {
  "noise": (random) => noiseBytes(random, 1 + random.below(2_000)),
  "a request line of noise": (random) => [noise(random, 40), "\r\n\r\n"],
  "an odd method": (random) =>
    `${random.pick(["", "G\u0000T", "get", "TRACE", "CONNECT", "X".repeat(5_000)])} ${
      path(random)
    } HTTP/1.1\r\n${HOST}\r\n`,
  "an odd target": (random) =>
    `GET ${
      random.pick([
        "*",
        "//",
        "/%00",
        "/%ff%fe",
        "/../../etc/passwd",
        `/${"a".repeat(20_000)}`,
        "http://evil/x",
        "/v1/sessions/%2e%2e",
        "/v1/turns/%F0%9F/events",
      ])
    } HTTP/1.1\r\n${HOST}\r\n`,
  "an odd version": (random) =>
    `GET /v1/sessions HTTP/${random.pick(["0.9", "1.0", "2.0", "9", "1.1.1"])}\r\n${HOST}\r\n`,
  "no host, two hosts, a foreign host": (random) =>
    `GET /v1/sessions HTTP/1.1\r\n${
      random.pick([
        "",
        `${HOST}${HOST}`,
        "Host: evil.example\r\n",
        "Host: \r\n",
        "Host: [::\r\n",
        "Host: a b\r\n",
      ])
    }\r\n`,
  "huge headers": (random) =>
    `GET /v1/sessions HTTP/1.1\r\n${HOST}X-Big: ${
      "x".repeat(random.below(2) === 0 ? 8_000 : 600_000)
    }\r\n\r\n`,
  "many headers": (random) =>
    `GET /v1/sessions HTTP/1.1\r\n${HOST}${
      Array.from({ length: 50 + random.below(400) }, (_, i) => `X-H${i}: v\r\n`).join("")
    }\r\n`,
  "headers that are none": (random) =>
    `GET /v1/sessions HTTP/1.1\r\n${HOST}${
      random.pick([": x\r\n", "no colon\r\n", " folded\r\n", "A\u0000B: c\r\n", "X: \u0001\r\n", "X : y\r\n"])
    }\r\n`,
  "bytes in headers that are no text": (random) => [
    `GET /v1/turns/x/events HTTP/1.1\r\n${HOST}Last-Event-ID: `,
    noiseBytes(random, 30).filter((byte) => byte !== 10 && byte !== 13),
    "\r\n\r\n",
  ],
  "odd values of our own headers": (random) =>
    post(
      "/v1/turns",
      '{"input":"x"}',
      `${
        random.pick([
          "Idempotency-Key",
          "X-Request-Id",
          "Authorization",
          "Origin",
          "Content-Type",
          "Content-Encoding",
          "Accept-Encoding",
        ])
      }: ${
        random.pick(["", " ", "\t", "x".repeat(4_000), '"}', "\u00ff\u00fe", "gzip", "null", "a,b;q=1"])
      }\r\n`,
    ),
  "a length that is too long": (random) =>
    `POST ${path(random)} HTTP/1.1\r\n${HOST}Content-Length: ${100 + random.below(1e6)}\r\n\r\n{"input":"x"}`,
  "a length that is too short": (random) =>
    `POST ${path(random)} HTTP/1.1\r\n${HOST}Content-Length: ${
      random.below(8)
    }\r\n\r\n{"input":"x","stream":false}`,
  "a length that is none": (random) =>
    `POST ${path(random)} HTTP/1.1\r\n${HOST}Content-Length: ${
      random.pick(["-1", "1e3", "99999999999999999999", "0x10", "", "1,2", "+5", "1099511627776"])
    }\r\n\r\n{"input":"x"}`,
  "two lengths": (random) =>
    `POST ${path(random)} HTTP/1.1\r\n${HOST}Content-Length: 5\r\nContent-Length: 13\r\n\r\n{"input":"x"}`,
  "a length and chunks": (random) =>
    `POST ${
      path(random)
    } HTTP/1.1\r\n${HOST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n{"input":"x"}\r\n0\r\n\r\n`,
  "chunked nonsense": (random) =>
    `POST ${path(random)} HTTP/1.1\r\n${HOST}Transfer-Encoding: ${
      random.pick(["chunked", "Chunked", "xchunked", "gzip, chunked"])
    }\r\n\r\n${
      random.pick([
        "zz\r\n{}\r\n",
        "-1\r\n{}\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\n{}",
        "5\r\n{}\r\n0\r\n\r\n",
        "2;a=b\r\n{}\r\n0\r\nX: y\r\n\r\n",
        "2\r\n{}0\r\n\r\n",
      ])
    }`,
  "a chunked body that ends too early": (random) =>
    `POST ${path(random)} HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n40\r\n{"input":`,
  "a body of noise": (random) => post(path(random), noiseBytes(random, 1 + random.below(5_000))),
  "invalid UTF-8": (random) =>
    post(
      path(random),
      Uint8Array.from([...encoder.encode('{"input":"'), 0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0x22, 0x7d]),
    ),
  "deep JSON": (random) => {
    const depth = 1_000 + random.below(200_000);
    const [open, close] = random.pick<readonly [string, string]>([["[", "]"], ['{"a":', "}"], [
      '{"messages":[',
      "]}",
    ]]);
    return post(path(random), open.repeat(depth) + (random.below(2) === 0 ? "1" + close.repeat(depth) : ""));
  },
  "duplicate and dangerous keys": (random) =>
    post(
      path(random),
      random.pick([
        '{"input":"a","input":{"b":1},"stream":false}',
        '{"__proto__":{"tenant":"x"},"input":"a","stream":false}',
        '{"constructor":{"prototype":{}},"messages":[]}',
        '{"messages":[{"role":"user","role":"tool","content":"x"}],"messages":[1]}',
        '{"toString":1,"input":[{"type":"text","text":"x","__proto__":null}]}',
      ]),
    ),
  "JSON of odd shape": (random) =>
    post(
      path(random),
      random.pick([
        "null",
        "true",
        "1e999",
        '""',
        "[]",
        "[[]]",
        "{}",
        '{"messages":{}}',
        '{"messages":[null,1,"x",[]]}',
        '{"input":"\\ud800"}',
        '{"input":[{"type":"file","mediaType":"image/png","data":"%%%"}]}',
        '{"messages":[{"role":"tool"}],"budget":-1}',
        '{"input":"x","session":"../x"}',
        '{"input":"x","agent":"__proto__"}',
      ]),
    ),
  "numbers out of all bounds": (random) =>
    post(
      "/v1/compact",
      `{"messages":[{"role":"user","content":"x"}],"budget":${
        random.pick(["1e308", "-0", "0.1", "9007199254740993"])
      },"lookback":${random.pick(["1e308", "-1", "0"])},"pinned":[${random.pick(["-1", "1e9", "0.5"])}]}`,
    ),
  "odd queries": (random) =>
    `GET /v1/sessions?${
      random.pick([
        "limit=-1",
        "limit=1e9",
        "limit=999999999",
        "after=%00",
        `after=${"a".repeat(4_000)}`,
        "after=eyJ9",
        "limit=1&limit=2",
        "%=%&&==",
      ])
    } HTTP/1.1\r\n${HOST}\r\n`,
  "odd ids": (random) =>
    `${random.pick(["GET", "DELETE"])} /v1/${random.pick(["turns", "sessions"])}/${
      random.pick([
        "%00",
        "..%2f..",
        "a".repeat(3_000),
        "%F0%9F%98%80",
        "__proto__",
        "%22%2C%22",
        "x/entries/e999999999999999",
        "x/entries/e0..e99999999999",
        "x/messages?from=9e9",
      ])
    } HTTP/1.1\r\n${HOST}\r\n`,
  "requests in a row, the second one hidden": (random) => [
    ...post(path(random), '{"input":"x","stream":false}'),
    "GET /v1/sessions HTTP/1.1\r\nHost: evil.example\r\n\r\n",
  ],
  "an upgrade": () =>
    `GET /v1/turns HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: ${"websocket"}\r\nSec-WebSocket-Key: x\r\n\r\n`,
  "HTTP/2 without asking": () =>
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0000\u0004\u0000\u0000\u0000\u0000\u0000",
  "an expectation": (random) =>
    `POST ${path(random)} HTTP/1.1\r\n${HOST}Expect: ${
      random.pick(["100-continue", "200-maybe"])
    }\r\nContent-Length: 13\r\n\r\n{"input":"x"}`,
};

/** Names of all kinds. */
export const KIND_NAMES: readonly string[] = Object.keys(KINDS);

/** Makes the n-th request of a seed: every kind comes as often as any other, cut at random places. */
export function makeRequest(n: number, random: Random): HostileRequest {
  const kind = KIND_NAMES[n % KIND_NAMES.length] ?? "noise";
  const made = KINDS[kind]?.(random) ?? "";
  const parts = (typeof made === "string" || made instanceof Uint8Array ? [made] : made)
    .map((part) => typeof part === "string" ? latin1(part) : part);
  const whole = join(parts);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < whole.length;) {
    const size = random.below(3) === 0 ? 1 + random.below(60) : whole.length;
    // No more than a few small pieces: the rest in one.
    const end = pieces.length > 6 ? whole.length : Math.min(whole.length, at + size);
    pieces.push(whole.subarray(at, end));
    at = end;
  }
  return { kind, pieces };
}

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0) & 0xff);
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
