/** What each session has written over the generated files, in memory and bounded. */
import type { ToolContext } from "../ports.ts";
import { workspaceFiles } from "./_files.ts";

const encoder = new TextEncoder();

/** UTF-8 bytes that one session may have written at a time. */
export const MAX_SESSION_BYTES = 128 * 1024;

/** One session's own layer over the generated files. */
export interface Overlay {
  readonly written: Map<string, string>;
  /** Units whose check has passed. */
  readonly sealed: Set<string>;
}

/** UTF-8 bytes of a text. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/**
 * Makes the store of overlays. Past `max` sessions the one that was not used for the longest time is dropped:
 * the workspace is a demonstration and must not grow with the traffic.
 */
export function createOverlays(max: number): (context: ToolContext) => Overlay {
  const overlays = new Map<string, Overlay>();
  return ({ tenant, user, session }) => {
    const key = JSON.stringify([tenant, user ?? null, session]);
    const overlay = overlays.get(key) ?? { written: new Map<string, string>(), sealed: new Set<string>() };
    overlays.delete(key);
    overlays.set(key, overlay);
    for (const oldest of overlays.keys()) {
      if (overlays.size <= max) break;
      overlays.delete(oldest);
    }
    return overlay;
  };
}

/** The text of a file as one session sees it, or undefined where there is none. */
export function textOf(overlay: Overlay, path: string): string | undefined {
  return overlay.written.get(path) ?? workspaceFiles().get(path);
}

/** Every path that one session sees, sorted. */
export function pathsOf(overlay: Overlay): string[] {
  return [...new Set([...workspaceFiles().keys(), ...overlay.written.keys()])].sort();
}
