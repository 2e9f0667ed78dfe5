/**
 * Benchmark of the token counter against its peers, o200k_base, in ratios of CPU time within one process.
 *
 * The peers are imported here and nowhere else, by exact version. Texts are made from a seed; every timed slice is
 * fresh, so that no peer profits from having cached its pieces. Over 300 lines: half of it is the makers of texts, which
 * nothing else needs.
 */
import { measureMeter } from "./_meter.ts";
import process from "node:process";
import { fileURLToPath } from "node:url";
import v8 from "node:v8";
import vm from "node:vm";
import { countPiece, readVocabulary } from "../../src/tokens/_bpe.ts";
import { loadCounter, utf8Length } from "../../src/tokens/counter.ts";
import { randomFrom } from "../support/random.ts";
import { runs } from "../support/runs.ts";

type Count = (text: string, limit?: number) => number;
type Make = (length: number) => string;
interface Row {
  target: string;
  what: string;
  wanted: string;
  measured: string;
  met: boolean;
}

/** Fuzzed strings for each encoding. */
const FUZZ = runs(30_000);

// ---- texts -------------------------------------------------------------------------------------------------

/** Whole numbers below the one that is named. All that is timed is the same on every run. */
function wholeFrom(seed: number) {
  const next = randomFrom(seed);
  return (below: number): number => Math.floor(next() * below);
}

let random = wholeFrom(20260901);
const pick = <T>(from: ArrayLike<T>): T => from[random(from.length)]!;
const times = (n: number, make: (i: number) => string, between = "") =>
  Array.from({ length: n }, (_, i) => make(i)).join(between);

/** Parts up to a length in UTF-16 units; half a surrogate pair at the end becomes U+FFFD. */
function fill(length: number, part: () => string): string {
  const parts: string[] = [];
  for (let size = 0; size < length; size += parts.at(-1)!.length) parts.push(part());
  return parts.join("").slice(0, length).toWellFormed();
}

const COMMON =
  ("the of and to in is that it was for on are as with his they at be this from have or by one had not but " +
    "what all were when we there can an your which their said if do will each about how up out them then she many some " +
    "so these would other into has more her two like him see time could no make than first been its who now people my " +
    "made over did down only way find use may water long little very after words called just where most know get through " +
    "back much before go good new write our used me man too any day same right look think also around another came come " +
    "work three word must because does part even place well such here take why things help put years different away again " +
    "off went old number great tell men say small every found still between name should home big give air line set own " +
    "under read last never us left end along while might next sound below saw something thought both few those always " +
    "looked show large often together asked house world going want school important until form food keep children feet " +
    "land side without boy once animals life enough took sometimes four head above kind began almost live page got earth " +
    "need far hand high year mother light parts country father let night following picture being study second eyes soon " +
    "times story boys since white days ever paper hard near sentence better best across during today others however sure " +
    "means knew tried told young miles sun ways thing whole hear example heard several change answer room sea against top " +
    "turned learn point city play toward five using himself usually").split(" ");
const SYLLABLES =
  "ba con der el fi gra hol in jor kel lum mar nov or per qui ran sel tor ul ven wex yon zet tion ment ing ism ly"
    .split(" ");
const HAN =
  "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运";
const word = () => random(7) ? pick(COMMON) : times(2 + random(3), () => pick(SYLLABLES));
const capital = (text: string) => text[0]!.toUpperCase() + text.slice(1);
const name = () => word() + times(random(3), () => capital(word()));
const digits = (n: number) => times(n, () => String(random(10)));
const hex = (n: number) => times(n, () => pick("0123456789abcdef"));
const stamp = () =>
  `2026-0${1 + random(9)}-${10 + random(18)}T${10 + random(14)}:${10 + random(50)}:${10 + random(50)}.${
    digits(3)
  }Z`;

function sentence(): string {
  const words = times(4 + random(16), (i) => i > 2 && random(9) === 0 ? `${word()},` : word(), " ");
  return capital(words) + pick([". ", ". ", ". ", "? ", ".\n\n", `, it's ${word()}. `]);
}

function statement(): string {
  const pad = "  ".repeat(1 + random(4));
  return pick([
    () => `${pad}const ${name()} = await ${name()}.${name()}(${name()}, { ${name()}: ${random(1000)} });\n`,
    () =>
      `${pad}if (${name()} !== undefined && ${name()}.length > ${
        random(99)
      }) {\n${pad}  return ${name()};\n${pad}}\n`,
    () => `${pad}// ${sentence().trim()}\n`,
    () => `\nexport function ${name()}(${name()}: string, ${name()}: number[]): Promise<void> {\n`,
    () =>
      `${pad}for (const [${word()}, ${word()}] of Object.entries(this.#${name()})) ${name()}(\`\${${word()}}: ${word()}\`);\n`,
    () => `${pad}import { ${name()}, ${name()} } from "./${word()}/${word()}.ts";\n`,
  ])();
}

const record = () =>
  JSON.stringify({
    id: hex(24),
    [name()]: random(100000),
    at: stamp(),
    tags: [word(), word()],
    [name()]: { ok: random(2) === 0, score: random(1e6) / 1e4, note: sentence() },
    url: `https://${word()}.example/${word()}/${digits(5)}`,
  }) + ",";
const logLine = () =>
  `${stamp()} ${pick(["INFO", "WARN", "DEBUG"])} [${name()}] request=${
    hex(16)
  } path=/${word()}/${word()}/${name()} ` +
  `status=${200 + random(300)} took=${random(900)}ms ${times(3 + random(6), word, " ")}\n`;
const spaces = () =>
  pick([
    () => " ".repeat(1 + random(200)),
    () => "\n".repeat(1 + random(4)),
    () => "\t".repeat(1 + random(9)),
    () => `${word()}\n`,
  ])();
const FACES = "😀😃😄😁😆😅🤣😂🙂🙃😉😊😇🥰😍🤩😘🚀🎉🔥💡✅❌⭐🌍🌱🍕🎵📦🔧".match(/./gu)!;
const emoji = () =>
  pick([
    () => pick(FACES),
    () => pick(FACES),
    () => `👩${pick(["🏻", "🏽", "🏿", ""])}‍${pick(["💻", "🚀", "🔬"])}`,
    () => "👨‍👩‍👧‍👦",
    () => "🇫🇷",
  ])();
const codePoint = () => String.fromCodePoint(random(8) ? 0x20 + random(0xd7df) : 0x10000 + random(0x1ffff));

const NORMAL: Record<string, Make> = {
  prose: (n) => fill(n, sentence),
  TypeScript: (n) => fill(n, statement),
  JSON: (n) => fill(n, record),
  logs: (n) => fill(n, logLine),
};
const DENSE: Record<string, Make> = {
  base64: (n) => fill(n, () => btoa(times(48, () => String.fromCharCode(random(256))))),
  Chinese: (n) => fill(n, () => times(3 + random(18), () => pick(HAN)) + pick("，。、，。\n")),
  whitespace: (n) => fill(n, spaces),
  emoji: (n) => fill(n, () => times(20 + random(100), emoji) + "\n"),
  "random Unicode": (n) => fill(n, codePoint),
};
const RUNS: Record<string, Make> = {
  "'a'": (n) => "a".repeat(n),
  spaces: (n) => " ".repeat(n),
  "'ab'": (n) => "ab".repeat(n / 2),
  "'-'": (n) => "-".repeat(n),
  Han: (n) => fill(n, () => pick(HAN)),
  "random letters": (n) => fill(n, () => String.fromCharCode(97 + random(26))),
};

// ---- peers and clocks --------------------------------------------------------------------------------------

const PEERS: Record<string, () => Promise<Count>> = {
  selvage: async () => (await loadCounter()).count,
  "js-tiktoken": async () => {
    const [{ Tiktoken }, { default: ranks }] = await Promise.all([
      import("npm:js-tiktoken@1.0.21/lite"),
      import("npm:js-tiktoken@1.0.21/ranks/o200k_base"),
    ]);
    const encoder = new Tiktoken(ranks);
    return (text) => encoder.encode(text, [], []).length;
  },
  "gpt-tokenizer": async () => {
    const { countTokens, clearMergeCache } = await import("npm:gpt-tokenizer@4.0.0/encoding/o200k_base");
    const disallowedSpecial = new Set<string>();
    return (text) => {
      clearMergeCache(); // a slice is always fresh; so is the cache
      return countTokens(text, { disallowedSpecial });
    };
  },
  "tiktoken WASM": async () => {
    const { get_encoding } = await import("npm:tiktoken@1.0.22");
    const encoder = get_encoding("o200k_base");
    return (text) => encoder.encode(text, [], []).length;
  },
};

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

v8.setFlagsFromString("--expose-gc");
const collect: () => void = vm.runInNewContext("gc");

/** Milliseconds of CPU time, all threads: other processes on the machine do not count. */
function cpu(run: () => unknown): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** How many times our CPU time the peer needs: median of rounds in turn, each on 25 new slices of 20,000 units. */
function ratio(ours: Count, peer: Count, make: Make): number {
  const rounds = Array.from({ length: 5 }, (_, round) => {
    const slices = Array.from({ length: 25 }, () => make(20_000));
    const time = (count: Count) => {
      collect(); // the garbage of one must not be charged to the other
      count(make(5_000)); // a collection also throws compiled patterns away
      return cpu(() => slices.forEach((slice) => count(slice)));
    };
    const [first, second] = round % 2 ? [time(ours), time(peer)] : [time(peer), time(ours)];
    return round % 2 ? second / first : first / second;
  });
  return median(rounds);
}

// ---- children: what can be measured once per process only ---------------------------------------------------

interface Cold {
  cpu: number;
  rss: number;
}

async function coldStart(peer: string): Promise<Cold> {
  const rss = Deno.memoryUsage().rss;
  const before = process.cpuUsage();
  (await PEERS[peer]!())("Hello, world: it's a first count.");
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system) / 1000, rss: (Deno.memoryUsage().rss - rss) / 2 ** 20 };
}

/** Growth of the heap in MB over 60 distinct texts of half a megabyte, after forced collections. */
async function heapGrowth(peer: string): Promise<number> {
  const count = await PEERS[peer]!();
  const used = () => (collect(), collect(), Deno.memoryUsage().heapUsed / 2 ** 20);
  for (let i = 0; i < 3; i++) count(NORMAL.prose!(500_000));
  const before = used();
  for (let i = 0; i < 60; i++) count(NORMAL.prose!(500_000));
  return used() - before;
}

async function inChild<T>(task: string, peer: string): Promise<T> {
  const { stdout, stderr, success } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-read",
      "--allow-env",
      "--allow-sys",
      fileURLToPath(import.meta.url),
      task,
      peer,
    ],
  }).output();
  if (!success) throw new Error(`Measure ${task} of ${peer}: ${new TextDecoder().decode(stderr)}`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

// ---- the table ---------------------------------------------------------------------------------------------

const rows: Row[] = [];
function report(
  target: string,
  what: string,
  limit: { least?: number; most?: number; unit?: string },
  value: number,
): void {
  const { least = -Infinity, most = Infinity, unit = "x" } = limit;
  const show = (n: number) => `${Number(n.toPrecision(3))}${unit}`;
  const wanted = least === -Infinity ? `<= ${show(most)}` : `>= ${show(least)}`;
  rows.push({ target, what, wanted, measured: show(value), met: value >= least && value <= most });
}

async function reportColdStart(): Promise<void> {
  const rounds: Record<string, Cold>[] = [];
  for (let round = 0; round < 10; round++) {
    // In turn, so that a spell in which the machine is slow meets all of them.
    const cold: Record<string, Cold> = {};
    for (const peer of Object.keys(PEERS)) cold[peer] = await inChild("cold", peer);
    if (round > 0) rounds.push(cold); // the first fills the caches of the runtime
  }
  const middle = (value: (cold: Record<string, Cold>) => number) => median(rounds.map(value));
  const both = (peer: string) =>
    `${peer}: ${middle((cold) => cold[peer]!.cpu).toFixed(0)} ms, ${
      middle((cold) => cold[peer]!.rss).toFixed(0)
    } MB`;
  console.log(Object.keys(PEERS).map(both).join("; "));
  const share = (of: keyof Cold, peer: string) =>
    middle(({ selvage, [peer]: other }) => selvage![of] / other![of]);
  report("1", "cold start CPU / js-tiktoken", { most: 0.1 }, share("cpu", "js-tiktoken"));
  report("2", "cold start CPU / gpt-tokenizer", { most: 0.6 }, share("cpu", "gpt-tokenizer"));
  report("3", "RSS added / js-tiktoken", { most: 0.15 }, share("rss", "js-tiktoken"));
  report("3", "RSS added / gpt-tokenizer", { most: 0.5 }, share("rss", "gpt-tokenizer"));
}

function reportThroughput(ours: Count, peers: Record<string, Count>): void {
  for (const [corpus, make] of Object.entries({ ...NORMAL, ...DENSE })) {
    const isNormal = corpus in NORMAL;
    const speed = median(Array.from({ length: 5 }, () => {
      const text = make(200_000);
      return utf8Length(text) / 1000 / cpu(() => ours(text));
    }));
    console.log(`${corpus}: ${speed.toFixed(1)} MB/s`);
    const reportTimes = (target: string, peer: string, least: number) =>
      report(target, `${corpus}, times ${peer}`, { least }, ratio(ours, peers[peer]!, make));
    if (isNormal) reportTimes("4", "js-tiktoken", 10);
    reportTimes(isNormal ? "5" : "6", "gpt-tokenizer", isNormal ? 2.5 : 5);
    reportTimes("7", "tiktoken WASM", 1);
  }
}

function reportLongRuns(ours: Count, peers: Record<string, Count>): void {
  const prose = NORMAL.prose!(1_000_000);
  const againstProse: Record<string, number> = {};
  for (const [run, make] of Object.entries(RUNS)) {
    // Equal work side by side: a single short text fits into a moment in which nobody else uses the caches.
    const rounds = Array.from({ length: 7 }, () => {
      const [long, short] = [make(1_000_000), Array.from({ length: 10 }, () => make(100_000))];
      const small = cpu(() => short.forEach((text) => ours(text))) / 10;
      const large = cpu(() => ours(long));
      const perMB = large / utf8Length(long) * 1_000_000;
      return { growth: large / small, share: perMB / cpu(() => ours(prose)) };
    });
    report("8", `${run}: 1M units / 100k`, { most: 13 }, median(rounds.map(({ growth }) => growth)));
    againstProse[run] = median(rounds.map(({ share }) => share));
  }
  const [run, worst] = Object.entries(againstProse).toSorted(([, a], [, b]) => b - a)[0]!;
  report("9", `worst 1 MB run (${run}) / 1 MB of prose`, { most: 8 }, worst);
  for (const run of ["'a'", "spaces"]) {
    const text = RUNS[run]!(100_000);
    const fast = median(Array.from({ length: 9 }, () => cpu(() => ours(text))));
    report(
      "10",
      `100k ${run}, times gpt-tokenizer`,
      { least: 50 },
      cpu(() => peers["gpt-tokenizer"]!(text)) / fast,
    );
  }
  const early = cpu(() => Array.from({ length: 20 }, () => ours(prose, 1000))) / 20;
  report("14", "limit of 1,000 on 1M / full count", { most: 0.03 }, early / cpu(() => ours(prose)));
}

/** Strings of one to six runs, each of one class of characters: what a splitter and a merge can get wrong. */
function fuzz(): string {
  const make = pick<() => string>([
    () => pick("abcdefgeinorst"),
    () => pick("ABCDEFGEINORST"),
    () => pick("0123456789²½٣"),
    () => pick(" \t\n\r\v\f\u00a0\u2003\u3000"),
    () => pick("!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~«»…—"),
    () => pick(["'s", "'T", "'re", "'VE", "'m", "'lL", "'d", "'x"]),
    () => pick(HAN),
    () => pick("가각간나다라마바사아자차카타파하"),
    () => pick("абвгдежзийклмнопАБВГДЕЖЗ"),
    () => pick("\u0301\u0308\u0327\u20e3"),
    () => emoji(),
    () => pick(["\ud83d", "\ude00"]),
    () => pick(["<|endoftext|>", "<|im_start|>", "<|fim_prefix|>"]),
    codePoint,
  ]);
  return times(1 + random(random(8) ? 12 : 200), make);
}

async function reportExactness(): Promise<void> {
  const before = random;
  random = wholeFrom(FUZZ.seed);
  const { get_encoding } = await import("npm:tiktoken@1.0.22");
  for (const encoding of ["o200k_base", "cl100k_base"] as const) {
    const { count } = await loadCounter(encoding);
    const oracle = get_encoding(encoding);
    const texts = Array.from({ length: FUZZ.numRuns }, () => times(1 + random(6), fuzz));
    for (const make of Object.values({ ...NORMAL, ...DENSE })) texts.push(make(60_000));
    const differ = texts.filter((text) => count(text) !== oracle.encode(text, [], []).length);
    for (const text of differ.slice(0, 3)) console.log(`${encoding} differs on ${JSON.stringify(text)}`);
    report("11", `${encoding}: differences in ${texts.length.toLocaleString("en")} texts`, {
      most: 0,
      unit: "",
    }, differ.length);
    oracle.free();
  }
  random = before;
}

/** The error of hard cuts: whole pieces are counted by the merge itself, base64 by a peer that has no windows. */
async function reportWindows(ours: Count, whole: Count): Promise<void> {
  const { default: { bpe_ranks } } = await import("npm:js-tiktoken@1.0.21/ranks/o200k_base");
  const vocabulary = readVocabulary(bpe_ranks);
  const onePiece = (text: string) => {
    const bytes = new TextEncoder().encode(text);
    return countPiece(vocabulary, bytes, 0, bytes.length);
  };
  let [short, long] = ["a", "ab"];
  while (long.length < 1_000_000) [short, long] = [long, long + short];
  const base64 = DENSE.base64!(1_000_000);
  const errors = [[ours(base64), whole(base64)]];
  const texts = ["'a'", "'ab'", "Han", "random letters"].map((run) => RUNS[run]!(1_000_000));
  for (const text of [long, ...texts]) errors.push([ours(text), onePiece(text)]);
  const worst = Math.max(...errors.map(([found, wanted]) => Math.abs(found! - wanted!) / wanted! * 100));
  report("12", "worst error of windows without a neutral cut", { most: 0.01, unit: " %" }, worst);
}

function reportThrows(ours: Count): void {
  const texts = [
    "",
    "<|endoftext|><|im_start|>",
    "\ud800",
    "\udc00\ud800".repeat(99_999),
    "中".repeat(10_000_000),
  ];
  const thrown = texts.filter((text) => {
    try {
      return !Number.isInteger(ours(text));
    } catch {
      return true;
    }
  });
  report("13", "strings that make it throw", { most: 0, unit: "" }, thrown.length);
}

async function reportSize(): Promise<void> {
  let lines = 0;
  for (const file of ["counter.ts", "_bpe.ts"]) {
    const source = await Deno.readTextFile(new URL(`../../src/tokens/${file}`, import.meta.url));
    lines += source.replaceAll(/^\s*(\/\*\*|\*|\/\/).*$/gm, "").split("\n").filter((line) =>
      line.trim()
    ).length;
  }
  report("19", "lines of code in both files, without comments", { most: 160, unit: "" }, lines);
}

/** Rows 15 to 17 need the recorded transcripts; without them they are left out. */
async function reportMeter(): Promise<void> {
  const figures = await measureMeter();
  if (figures === null) {
    return console.log("Rows 15 to 17 are left out: the recorded transcripts are not there.");
  }
  const { checks, cheap, falselyUndecided, error } = figures;
  report(
    "15",
    `of ${checks} checks at 160k, decided without the tokenizer`,
    { least: 90, unit: " %" },
    cheap * 100,
  );
  report("16", "truly under, but undecided without it", { most: 3, unit: " %" }, falselyUndecided * 100);
  report("17", "estimate against a simulated bill, p95", { most: 2, unit: " %" }, error * 100);
}

/** Runs every measurement and prints one table; it takes about two minutes. */
export async function run(): Promise<void> {
  rows.length = 0;
  await reportColdStart();
  const peers: Record<string, Count> = {};
  for (const [peer, load] of Object.entries(PEERS)) peers[peer] = await load();
  const ours = peers.selvage!;
  for (const make of Object.values({ ...NORMAL, ...DENSE })) { // all is compiled before anything is timed
    for (const count of Object.values(peers)) count(make(2_000));
    ours(make(300_000));
  }
  reportThroughput(ours, peers);
  reportLongRuns(ours, peers);
  await reportExactness();
  await reportWindows(ours, peers["tiktoken WASM"]!);
  reportThrows(ours);
  report("18", "heap growth over 60 texts", { most: 1.5, unit: " MB" }, await inChild("heap", "selvage"));
  await reportSize();
  await reportMeter();
  console.table(
    rows.toSorted((a, b) => Number(a.target) - Number(b.target))
      .map(({ target, what, wanted, measured, met }) => ({
        "#": target,
        what,
        wanted,
        measured,
        met: met ? "yes" : "NO",
      })),
  );
}

const CHILD_TASKS: Record<string, (peer: string) => Promise<unknown>> = { cold: coldStart, heap: heapGrowth };
if (import.meta.main) {
  const [task, peer] = Deno.args;
  if (task === undefined || peer === undefined) await run();
  else console.log(JSON.stringify(await CHILD_TASKS[task]!(peer)));
}
