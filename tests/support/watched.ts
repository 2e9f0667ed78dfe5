/** Scripts that are watched: what their model was asked is kept. */
import type { Script } from "../../src/models/scripted.ts";
import type { ModelRequest } from "../../src/ports.ts";

/** A script, and a copy of each request that it has answered. */
export function watch(script: Script): { readonly script: Script; readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    requests,
    script: (request) => {
      requests.push(structuredClone(request));
      return script(request);
    },
  };
}
