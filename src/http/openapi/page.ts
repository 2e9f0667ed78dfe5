/**
 * The reference as a page: one static document without a script, and nothing from elsewhere.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../formats/format.ts";
import type { OpenApiDocument, OperationObject } from "./document.ts";

/** Levels of fields in fields that are shown. */
const MAX_DEPTH = 3;

/** How the page looks. */
export const STYLE =
  `:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent) }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem 1.5rem 6rem }
code, .path { font: 0.9em/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
a { color: inherit }
h2 { border-top: 2px solid; margin: 3rem 0 0; padding-top: 1rem }
h3 { margin: 2.5rem 0 0 }
h4 { margin: 1.2rem 0 0.2rem }
nav ul { columns: 22rem; list-style: none; margin: 0.3rem 0 1rem; padding: 0 }
.method { border: 1px solid; border-radius: 4px; display: inline-block; font-size: 0.75em; font-weight: 600; min-width: 3.6em; padding: 0 0.4em; text-align: center }
table { border-collapse: collapse; width: 100% }
td, th { border-top: 1px solid var(--line); padding: 0.25rem 0.75rem 0.25rem 0; text-align: left; vertical-align: top }
td:first-child { white-space: nowrap }
.in-1 { padding-left: 1.2rem } .in-2 { padding-left: 2.4rem } .in-3 { padding-left: 3.6rem }
p { margin: 0.3rem 0 }
`;

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(
    '"',
    "&quot;",
  );
}

/** A sentence whose names stand between backticks. */
function prose(text: unknown): string {
  return typeof text === "string" ? escape(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>") : "";
}

function nameOf(schema: JsonObject): string | null {
  return typeof schema["$ref"] === "string" ? schema["$ref"].split("/").at(-1) ?? null : null;
}

/** What a value is, in a few words; a schema with a name links to it. */
function typeOf(schema: unknown): string {
  if (!isObject(schema)) return "any";
  const name = nameOf(schema);
  if (name !== null) return `<a href="#${escape(name)}">${escape(name)}</a>`;
  const { const: fixed, enum: values, anyOf, oneOf, items, type, allOf } = schema;
  if (fixed !== undefined) return `<code>${escape(JSON.stringify(fixed))}</code>`;
  if (Array.isArray(values)) {
    return values.map((value) => `<code>${escape(JSON.stringify(value))}</code>`).join(" | ");
  }
  const choices = [anyOf, oneOf, allOf].find(Array.isArray);
  if (choices !== undefined) {
    return [...new Set((choices as readonly unknown[]).map(typeOf))].join(
      allOf === choices ? " &amp; " : " | ",
    );
  }
  if (type === "array") return `list of ${typeOf(items)}`;
  return typeof type === "string" ? type : "any";
}

/** Rows for the fields of a schema. */
function rows(schema: unknown, depth = 0): string {
  if (!isObject(schema) || depth > MAX_DEPTH) return "";
  if (isObject(schema["items"])) return rows(schema["items"], depth);
  const choices = [schema["anyOf"], schema["oneOf"], schema["allOf"]].find(Array.isArray);
  if (choices !== undefined) {
    return (choices as readonly unknown[]).map((choice) => rows(choice, depth)).join("");
  }
  if (!isObject(schema["properties"])) return "";
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(schema["properties"]).map(([name, field]) => {
    const description = isObject(field) ? prose(field["description"]) : "";
    const mark = required.includes(name) ? "" : "?";
    const head = `<td class="in-${depth}"><code>${escape(name)}${mark}</code></td>`;
    return `<tr>${head}<td>${typeOf(field)}</td><td>${description}</td></tr>${rows(field, depth + 1)}`;
  }).join("");
}

function table(schema: unknown): string {
  const found = rows(schema);
  return found === "" ? `<p>${typeOf(schema)}</p>` : `<table>${found}</table>`;
}

function contents(content: unknown): string {
  if (!isObject(content)) return "";
  return Object.entries(content).map(([type, media]) =>
    `<code>${escape(type)}</code>: ${typeOf(isObject(media) ? media["schema"] : undefined)}`
  ).join("<br>");
}

function operation(method: string, path: string, found: OperationObject): string {
  const { operationId, summary, parameters, requestBody, responses, security } = found;
  const parts = [
    `<h3 id="${escape(operationId)}"><span class="method">${method.toUpperCase()}</span> ` +
    `<span class="path">${escape(path)}</span></h3><p>${prose(summary)}${
      security.length === 0 ? " (anybody may ask)" : ""
    }</p>`,
  ];
  if (parameters.length > 0) {
    const list = parameters.map(({ name, in: where, description }) =>
      `<tr><td><code>${escape(name)}</code></td><td>${where}</td><td>${prose(description)}</td></tr>`
    );
    parts.push(`<h4>Parameters</h4><table>${list.join("")}</table>`);
  }
  if (requestBody !== undefined) parts.push(`<h4>Body</h4><p>${contents(requestBody.content)}</p>`);
  const list = Object.entries(responses).map(([status, { description, content }]) =>
    `<tr><td>${status}</td><td>${prose(description)}</td><td>${
      Number(status) < 300 ? contents(content) : ""
    }</td></tr>`
  );
  parts.push(`<h4>Answers</h4><table>${list.join("")}</table>`);
  return parts.join("");
}

/** The page of a document. */
export function referencePage({ info, tags, paths, components }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, found]) => ({ method, path, found }))
  );
  const of = (tag: string) => operations.filter(({ found }) => found.tags.includes(tag));
  const nav = tags.map(({ name }) => {
    const list = of(name).map(({ method, path, found }) =>
      `<li><a href="#${escape(found.operationId)}"><span class="method">${method.toUpperCase()}</span> ` +
      `<span class="path">${escape(path)}</span></a></li>`
    );
    return `<strong>${escape(name)}</strong><ul>${list.join("")}</ul>`;
  });
  const sections = tags.map(({ name, description }) =>
    `<h2>${escape(name)}</h2><p>${prose(description)}</p>` +
    of(name).map(({ method, path, found }) => operation(method, path, found)).join("")
  );
  const schemas = Object.entries(components.schemas).map(([name, schema]) =>
    `<h3 id="${escape(name)}">${escape(name)}</h3><p>${prose(schema["description"])}</p>${table(schema)}`
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escape(info.title)} ${
    escape(info.version)
  }: reference</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="reference.css"></head><body>
<h1>${escape(info.title)} ${escape(info.version)}</h1>
<p>${prose(info.description)} The same for programs: <a href="openapi.json">openapi.json</a>, OpenAPI 3.1.
A key goes into <code>Authorization: Bearer</code> or <code>x-api-key</code>. Errors are problem documents with a
<code>code</code>: <a href="#Problem">Problem</a>. Streams are server-sent events: <a href="#TurnEvent">TurnEvent</a>.</p>
<nav>${nav.join("")}</nav>
${sections.join("\n")}
<h2>schemas</h2>
${schemas.join("\n")}
</body></html>
`;
}
