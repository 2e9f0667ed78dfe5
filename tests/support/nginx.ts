/** Debian's nginx in front of servers, with the project's own configuration. */

const PATH = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"].find((path) => {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
});

/** Whether there is an nginx on this machine. Where the gate runs there has to be one: `.ci/run` sees to it. */
export const hasNginx = PATH !== undefined;
if (!hasNginx) {
  if (Deno.env.get("NGINX_REQUIRED") === "1") {
    throw new Error("Found no nginx, wanted one where NGINX_REQUIRED is set: apt-get install nginx-light");
  }
  console.warn("The tests behind nginx are left out: found none, wanted apt-get install nginx-light");
}

export interface Proxy extends AsyncDisposable {
  readonly url: string;
}

/**
 * Starts nginx.
 *
 * @param upstreams Ports of the servers on this machine.
 * @param options Seconds of silence after which it gives a response up: in place of those of the configuration
 *   (`idleSeconds`), or of nginx's own default of 60, which the configuration may raise (`defaultSeconds`).
 */
export async function startNginx(
  upstreams: readonly number[],
  { idleSeconds, defaultSeconds = 60 }: { readonly idleSeconds?: number; readonly defaultSeconds?: number } =
    {},
): Promise<Proxy> {
  const folder = await Deno.makeTempDir({ prefix: "selvage-nginx-" });
  // Its workers give up their rights.
  await Deno.chmod(folder, 0o755);
  const port = freePort();
  const own = await Deno.readTextFile(new URL("../../deploy/nginx.conf", import.meta.url));
  const conf = own
    .replaceAll("/tmp/selvage-nginx", `${folder}/nginx`)
    .replace(
      /(?: *server selvage-\d:8000(.*);\n)+/,
      (_, settings) => upstreams.map((at) => `server 127.0.0.1:${at}${settings};\n`).join(""),
    )
    .replace("http {", `http {\nproxy_read_timeout ${defaultSeconds}s;`)
    .replace("listen 8080;", `listen 127.0.0.1:${port};`)
    .replace(
      "location / {",
      `location / {\n${idleSeconds === undefined ? "" : `proxy_read_timeout ${idleSeconds}s;`}`,
    );
  await Deno.writeTextFile(`${folder}/nginx.conf`, conf);
  const child = new Deno.Command(PATH ?? "nginx", {
    args: ["-p", folder, "-c", `${folder}/nginx.conf`, "-g", "daemon off;"],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const told = new Response(child.stderr).text();
  let isUp = false;
  void child.status.then(() => isUp = false);
  for (let tries = 0; !isUp && tries < 200; tries++) {
    isUp = await isOpen(port);
    if (!isUp) await new Promise((resolve) => setTimeout(resolve, 25));
  }
  if (!isUp) {
    child.kill("SIGKILL");
    throw new Error(`nginx did not start:\n${await told}`);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await told;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

async function isOpen(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}
