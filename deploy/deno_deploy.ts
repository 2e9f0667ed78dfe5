/**
 * The entrypoint on Deno Deploy, whose documentation knows `Deno.serve()` only: the same service as `main.ts`.
 *
 * @module
 */
import service from "../main.ts";

Deno.serve({ onListen: service.onListen }, service.fetch);
