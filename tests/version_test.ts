import { equal } from "node:assert/strict";
import config from "../deno.json" with { type: "json" };
import { VERSION } from "../src/version.ts";

Deno.test("VERSION is that of deno.json", () => equal(VERSION, config.version));
