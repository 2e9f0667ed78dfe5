/** The service as a process of its own, with a strict stand-in for the model service behind it. */
import type { Script } from "../../src/models/scripted.ts";
import { type Double, startDouble } from "../support/openai_double.ts";
import { type Server, startServer, tempKv } from "../support/server.ts";

/** A running service. */
export interface Service extends AsyncDisposable {
  /** Its URL, without a path. */
  readonly url: string;
  /** Its URL for clients of OpenAI. */
  readonly baseURL: string;
  readonly double: Double;
  readonly server: Server;
}

/** Starts the service as a user would, on a model that a script speaks for. */
export async function startService(script: Script, env: Record<string, string> = {}): Promise<Service> {
  const double = startDouble({ script });
  const kv = await tempKv();
  const server = await startServer({
    SELVAGE_MODEL: "openai:double",
    OPENAI_BASE_URL: double.url,
    OPENAI_API_KEY: "sk-upstream",
    SELVAGE_KV: kv.path,
    ...env,
  });
  return {
    url: server.url,
    baseURL: `${server.url}/v1`,
    double,
    server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await double[Symbol.asyncDispose]();
      await kv[Symbol.asyncDispose]();
    },
  };
}
