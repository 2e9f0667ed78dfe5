/** Starts the real server as a process of its own, the way `deno task start` does. */
import { TextLineStream } from "@std/streams";

/** Milliseconds for the server to listen; a first run has to fetch its packages. */
const START_MS = 60_000;
/** Milliseconds between asking a server to end and ending it. */
const STOP_MS = 5_000;
/** Lines of output that are kept for an error report. */
const KEPT_LINES = 20;

/** A running server. */
export interface Server extends AsyncDisposable {
  /** Base URL without a slash at the end. */
  readonly url: string;
  /** What it printed last. */
  readonly output: readonly string[];
  /** Ends it at once. */
  kill(): void;
}

/** Ways to end the servers that run, from their first moment on. */
const kills = new Set<() => void>();

/** Ends every server that this process has started, at once. */
export function killServers(): void {
  for (const kill of kills) kill();
}

/** The environment of this process without what would steer the server. */
function plainEnvironment(): Record<string, string> {
  const entries = Object.entries(Deno.env.toObject());
  return Object.fromEntries(
    entries.filter(([name]) => !/^(SELVAGE_|OPENAI_|ANTHROPIC_|OTEL_|DENO_SERVE_ADDRESS$)/.test(name)),
  );
}

/**
 * Starts the server on a free port of 127.0.0.1 and waits until it listens.
 *
 * @param env Variables for it; what this process has for the service is not passed on.
 * @throws Error with the server's last words when it ends or says nothing for a minute.
 */
export async function startServer(env: Readonly<Record<string, string>>): Promise<Server> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["serve", "-P=serve", "--host", "127.0.0.1", "--port", "0", "main.ts"],
    cwd: new URL("..", import.meta.url),
    clearEnv: true,
    env: { ...plainEnvironment(), NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output: string[] = [];
  const listening = Promise.withResolvers<string>();
  let isGone = false;

  // Both pipes are read to the end: a full pipe would stop the server.
  async function follow(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    const lines = stream.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of lines) {
      output.push(line);
      if (output.length > KEPT_LINES) output.shift();
      const url = line.match(/Listening on (http:\/\/[^\s/]+)/)?.[1];
      if (url !== undefined) listening.resolve(url);
    }
  }
  const ended = Promise.all([follow(child.stdout), follow(child.stderr), child.status]).then(
    ([, , status]) => {
      isGone = true;
      listening.reject(
        new Error(`Cannot start the server: it ended with code ${status.code}\n${output.join("\n")}`),
      );
    },
  );

  function send(signal: Deno.Signal): void {
    if (isGone) return;
    try {
      child.kill(signal);
    } catch (error) {
      // It ended between the look and the signal.
      if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
    }
  }

  function kill(): void {
    send("SIGKILL");
  }
  kills.add(kill);

  async function stop(): Promise<void> {
    send("SIGTERM");
    const timer = setTimeout(kill, STOP_MS);
    await ended;
    clearTimeout(timer);
  }

  const timer = setTimeout(() => {
    listening.reject(
      new Error(`Cannot start the server: found no "Listening on" in its output\n${output.join("\n")}`),
    );
  }, START_MS);
  try {
    const url = await listening.promise;
    return { url, output, kill, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
