/** What a run asks of the double: it stands in the user's message, so that it goes through every server. */

/** A run. */
export interface Plan {
  /**
   * `steps`: calls of a tool, then a text, each answer in one read. `streamed`: the same, each frame read by itself, as
   * a provider sends them. `deltas`: a text, each word read by itself. `burst`: 64 words a read.
   * `paced`: a word each 2 ms. `slow`: a word a second.
   */
  readonly kind: "steps" | "streamed" | "deltas" | "burst" | "paced" | "slow";
  /** Steps, or words. */
  readonly count: number;
  /** Characters of each result. */
  readonly size: number;
}

/** Words of one read in a burst. */
export const BURST = 64;

let ids = 0;

/** The user's message of a plan, under an id that no other run has. */
export function planText({ count, kind, size }: Plan): string {
  return `plan r${ids++} ${kind} ${count} ${size}`;
}

/** The plan in the first user message of a request. The body is not parsed: the history grows, and is not measured here. */
export function planOf(body: Uint8Array): Plan & { readonly id: string } {
  const text = new TextDecoder().decode(body.subarray(0, 8_192));
  const [, id = "", kind = "steps", count = "0", size = "0"] = /plan (\w+) (\w+) (\d+) (\d+)/.exec(text) ??
    [];
  return { id, kind: kind as Plan["kind"], count: Number(count), size: Number(size) };
}

/** What the tool of a plan answers. */
export function resultOf(size: number): string {
  return "const line = 0;\n".repeat(Math.ceil(size / 16)).slice(0, size);
}

/** Whether a plan has the tool called, rather than a text told. */
export function hasSteps({ kind }: Plan): boolean {
  return kind === "steps" || kind === "streamed";
}
