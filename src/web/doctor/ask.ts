/**
 * The worker as the page sees it: a question, and a promise of its answer.
 *
 * @module
 */
/// <reference lib="dom" />
import type { Answer, Ask } from "./protocol.ts";

/** Asks the worker; rejects with what it says where it fails. */
export type Asking = <Kind extends Answer["kind"]>(
  ask: Ask,
  kind: Kind,
) => Promise<Extract<Answer, { readonly kind: Kind }>>;

/** Where the worker's code is: in the page itself, where the page is one file, else beside it. */
function workerUrl(): string {
  const own = document.querySelector("#doctor-worker")?.textContent;
  return own ? URL.createObjectURL(new Blob([own], { type: "text/javascript" })) : "assets/doctor_worker.js";
}

/**
 * Starts the worker.
 *
 * @param onLost Called where it cannot be loaded, or has died.
 */
export function startWorker(onLost: () => void): Asking {
  const waiting = new Map<
    number,
    { readonly resolve: (answer: Answer) => void; readonly reject: (error: Error) => void }
  >();
  let next = 0;
  const worker = new Worker(workerUrl());
  worker.addEventListener("message", ({ data: { id, answer } }) => {
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (answer.kind === "failed") reject?.(new Error(answer.message));
    else resolve?.(answer);
  });
  worker.addEventListener("error", (event) => {
    event.preventDefault();
    for (const { reject } of waiting.values()) {
      reject(new Error("The part of the page that reads has stopped"));
    }
    waiting.clear();
    onLost();
  });
  return (ask, kind) =>
    new Promise((resolve, reject) => {
      const id = next++;
      waiting.set(id, {
        resolve: (answer) => {
          if (answer.kind === kind) resolve(answer as Extract<Answer, { readonly kind: typeof kind }>);
          else reject(new Error(`Cannot use the answer: found ${answer.kind}, wanted ${kind}`));
        },
        reject,
      });
      worker.postMessage({ id, ask });
    });
}
