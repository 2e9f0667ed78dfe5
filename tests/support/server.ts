/** A real server as a process of its own, started as a user would start it. */
import { TextLineStream } from "@std/streams";

const ROOT = new URL("../../", import.meta.url).pathname;

export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** Lines that the server has written so far. */
  readonly log: readonly string[];
  kill(signal: Deno.Signal): void;
  readonly status: Promise<Deno.CommandStatus>;
}

/** A database file for servers that share it, where `-P=serve` lets them write; removed with all beside it. */
export async function tempKv(): Promise<AsyncDisposable & { readonly path: string }> {
  await Deno.mkdir(`${ROOT}.selvage`, { recursive: true });
  const folder = await Deno.makeTempDir({ dir: `${ROOT}.selvage`, prefix: "test-" });
  return {
    path: `${folder.slice(ROOT.length)}/kv.sqlite3`,
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/** How a server is started. */
export interface StartOptions {
  /** Flags of `deno serve -P=serve … main.ts`. Default: a free port of loopback. */
  readonly args?: readonly string[];
  /** Another command of Deno in its place. */
  readonly command?: readonly string[];
}

/** Runs `deno serve main.ts` with an environment and waits until it listens. */
export async function startServer(
  env: Record<string, string>,
  options: StartOptions = {},
): Promise<Server> {
  const { child, log, listening } = spawn(env, options);
  const url = await listening;
  if (url === null) {
    await child.status;
    throw new Error(`The server did not start:\n${log.join("\n")}`);
  }
  return {
    url,
    pid: child.pid,
    log,
    status: child.status,
    kill: (signal) => child.kill(signal),
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended by itself.
      }
      await child.status;
    },
  };
}

/** Starts a server that is expected to refuse; gives its exit code and what it wrote. */
export async function startRefused(
  env: Record<string, string>,
  options: StartOptions = {},
): Promise<{ readonly code: number; readonly text: string }> {
  const { child, log, listening } = spawn(env, options);
  const url = await listening;
  if (url !== null) {
    child.kill("SIGKILL");
    await child.status;
    throw new Error(`The server listens on ${url}, wanted a refusal`);
  }
  const { code } = await child.status;
  return { code, text: log.join("\n") };
}

/** The environment without variables of the service: those of a run of tests, or of whoever runs it, are none of its. */
function environment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Deno.env.toObject()).filter(([name]) => !name.startsWith("SELVAGE_")),
  );
}

function spawn(
  env: Record<string, string>,
  { args = ["--host", "127.0.0.1", "--port", "0"], command }: StartOptions,
) {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...command ?? ["serve", "-P=serve", ...args, "main.ts"]],
    cwd: ROOT,
    env: { ...environment(), NO_COLOR: "1", ...env },
    clearEnv: true,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const log: string[] = [];
  const listening = new Promise<string | null>((resolve) => {
    void (async () => {
      const lines = child.stderr.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
      for await (const line of lines) {
        log.push(line);
        const url = line.match(/Listening on (http:\/\/\S+?)\/? /)?.[1];
        if (url !== undefined) resolve(url);
      }
      resolve(null);
    })();
  });
  return { child, log, listening };
}
