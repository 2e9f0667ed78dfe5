/** Server processes that share one database, and are killed and replaced. */
import { TextLineStream } from "@std/streams";
import type { Death, Setup } from "./_setup.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** What a server says that nothing is wrong with. */
const EXPECTED =
  /^(Listening on|Warning Permissions|Warning: Permissions)|config file is an experimental|^Deno.serve: request.signal aborts on successful/;

/** One server process. */
export interface Server {
  readonly url: string;
  readonly pid: number;
  readonly isAlive: boolean;
  /** Resolves when the process is gone. */
  readonly gone: Promise<void>;
  /** Lines it wrote that nobody expects. */
  readonly complaints: readonly string[];
  kill(signal?: Deno.Signal): void;
  /** Has it killed where it says; from now on. */
  arm(death: Death): Promise<void>;
}

/** Starts a server and waits until it listens. */
export async function startServer(setup: Setup): Promise<Server> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-P=test", "tests/crash/server.ts"],
    cwd: ROOT,
    env: { NO_COLOR: "1", CRASH_SETUP: JSON.stringify(setup) },
    // Ends with this process, and so does the server.
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const complaints: string[] = [];
  const listening = Promise.withResolvers<string>();
  let isAlive = true;
  const reading = (async () => {
    const lines = child.stderr.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of lines) {
      const url = line.match(/^Listening on (http:\/\/[^/]+)/)?.[1];
      if (url !== undefined) listening.resolve(url);
      else if (!EXPECTED.test(line)) complaints.push(line);
    }
  })();
  const gone = Promise.all([child.status, reading]).then(async () => {
    isAlive = false;
    await child.stdin.abort().catch(() => {});
    listening.reject(new Error(`Cannot start a server:\n${complaints.join("\n")}`));
  });
  const url = await listening.promise;
  return {
    url,
    pid: child.pid,
    get isAlive() {
      return isAlive;
    },
    gone,
    complaints,
    kill(signal = "SIGKILL") {
      if (signal === "SIGKILL") isAlive = false;
      try {
        child.kill(signal);
      } catch {
        // It is gone already.
      }
    },
    async arm(death) {
      const response = await fetch(`${url}/death`, { method: "POST", body: JSON.stringify(death) });
      await response.body?.cancel();
    },
  };
}

/** Servers on one database: as many as wanted, the dead replaced. */
export class Pool implements AsyncDisposable {
  readonly #setup: Setup;
  readonly #size: number;
  #servers: Server[] = [];
  readonly #dead: Server[] = [];
  readonly #starting = new Set<Promise<void>>();
  #isClosed = false;

  private constructor(setup: Setup, size: number) {
    this.#setup = setup;
    this.#size = size;
  }

  /** Starts the servers of a pool. */
  static async start(setup: Setup, size: number): Promise<Pool> {
    const pool = new Pool(setup, size);
    // One first: it makes the database.
    await pool.#add();
    await Promise.all(Array.from({ length: size - 1 }, () => pool.#add()));
    return pool;
  }

  /** Servers that live, waiting until there are two at the least. */
  async alive(): Promise<readonly [Server, ...Server[]]> {
    for (;;) {
      this.#replace();
      const [first, ...others] = this.#servers;
      if (first !== undefined && (others.length > 0 || this.#size === 1)) return [first, ...others];
      await Promise.race(this.#starting);
    }
  }

  /** What servers wrote that nobody expects. */
  get complaints(): readonly string[] {
    return [...this.#dead, ...this.#servers].flatMap(({ complaints }) => complaints);
  }

  /** Servers that died so far. */
  get deaths(): number {
    return this.#dead.length;
  }

  /** Waits until every server that is on its way is there. */
  async settle(): Promise<void> {
    this.#replace();
    await Promise.all(this.#starting);
  }

  #replace(): void {
    this.#dead.push(...this.#servers.filter((server) => !server.isAlive));
    this.#servers = this.#servers.filter((server) => server.isAlive);
    while (!this.#isClosed && this.#servers.length + this.#starting.size < this.#size) {
      const starting = this.#add().finally(() => this.#starting.delete(starting));
      this.#starting.add(starting);
    }
  }

  async #add(): Promise<void> {
    const server = await startServer(this.#setup);
    this.#servers.push(server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#starting);
    for (const server of this.#servers) server.kill();
    await Promise.all([...this.#servers, ...this.#dead].map(({ gone }) => gone));
  }
}
