/** Markdown as nodes: what a model writes becomes text and safe links, whatever it is. */
import { deepEqual, equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { markdown, safeLink } from "../../src/web/base/markdown.ts";
import { runs } from "../support/runs.ts";

/** A node as the page would draw it: `tag[attributes](children)`. */
interface Node {
  readonly type: unknown;
  readonly props: Readonly<Record<string, unknown>> & { readonly children?: unknown };
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "props" in value;
}

function childrenOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap(childrenOf);
  return value === null || value === undefined || typeof value === "boolean" ? [] : [value];
}

/** Every element of a tree. */
function elements(value: unknown): readonly Node[] {
  return childrenOf(value).flatMap((child) =>
    isNode(child) ? [child, ...elements(child.props.children)] : []
  );
}

/** All its text. */
function textIn(value: unknown): string {
  return childrenOf(value).map((child) => isNode(child) ? textIn(child.props.children) : String(child)).join(
    "",
  );
}

const TAGS: ReadonlySet<unknown> = new Set([
  ..."a blockquote br code del div em hr li ol p pre span strong table tbody td th thead tr ul".split(" "),
]);

/** What may stand in an element. */
const ATTRIBUTES: ReadonlySet<string> = new Set(
  "children class href target rel start tabindex role aria-label".split(" "),
);

function requireSafe(tree: unknown): void {
  for (const { type, props } of elements(tree)) {
    ok(TAGS.has(type), `found <${String(type)}>`);
    for (const name of Object.keys(props)) ok(ATTRIBUTES.has(name), `found ${name} in <${String(type)}>`);
    if (type !== "a") continue;
    ok(/^(?:https?|mailto):/.test(String(props["href"])), `found a link to ${String(props["href"])}`);
    ok(String(props["rel"]).includes("noopener"));
  }
}

Deno.test("markdown() reads what models write", () => {
  const tree = markdown(
    "# Title\n\nSome **bold** and `a < b && c` text with [a link](https://example.com/?a=1&b=2).\n\n- one\n- two\n\n" +
      "3. three\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```ts\nconst a = 1 < 2;\n```\n",
  );
  const tags = elements(tree).map(({ type }) => type);
  for (const tag of ["p", "strong", "code", "a", "ul", "ol", "table", "pre"]) {
    ok(tags.includes(tag), `no <${tag}> in ${tags}`);
  }
  equal(textIn(elements(tree).find(({ type }) => type === "code")), "a < b && c");
  equal(textIn(elements(tree).find(({ type }) => type === "pre")), "const a = 1 < 2;");
  equal(elements(tree).find(({ type }) => type === "a")?.props["href"], "https://example.com/?a=1&b=2");
  equal(elements(tree).find(({ type }) => type === "ol")?.props["start"], 3);
  requireSafe(tree);
});

Deno.test("markdown() shows what is no Markdown as it was written", () => {
  for (const text of ["a < b & c > d", 'He said "no" & it\'s fine', "1 &amp;lt; 2"]) {
    const shown = textIn(markdown(text));
    equal(shown, text.replace("&amp;", "&"));
  }
});

const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<a href='javascript:alert(1)'>x</a>",
  "text <b onclick=alert(1)>bold</b> text",
  "<iframe srcdoc='<script>1</script>'></iframe>",
  "<style>*{display:none}</style>",
  "<!-- comment --> <![CDATA[x]]>",
];

Deno.test.each(HOSTILE)("markdown() shows tags as text: %s", (text) => {
  const tree = markdown(text);
  requireSafe(tree);
  equal(textIn(tree).trim(), text);
});

const LINKS = [
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](data:text/html,<script>1</script>)",
  "[x](vbscript:x)",
  "[x](file:///etc/passwd)",
  "[x](/v1/sessions)",
  "[x](//evil.example)",
  "[x]( java\tscript:alert(1))",
  "<javascript:alert(1)>",
  "[x][1]\n\n[1]: javascript:alert(1)",
  "![x](https://evil.example/pixel.png)",
  "![x](data:image/svg+xml,<svg onload=alert(1)>)",
];

Deno.test.each(LINKS)("markdown() links to the web alone, and loads nothing: %s", (text) => {
  requireSafe(markdown(text));
});

Deno.test("safeLink() knows the web and mail", () => {
  deepEqual(
    ["https://a.example/x", "http://a.example", "mailto:a@b.example", "ftp://a", "x", "", "javascript:1"].map(
      safeLink,
    ),
    ["https://a.example/x", "http://a.example/", "mailto:a@b.example", null, null, null, null],
  );
});

Deno.test("markdown() is safe with any text, and ends soon with texts made to be slow", () => {
  const piece = fc.constantFrom(
    ...[
      "<",
      ">",
      "[",
      "]",
      "(",
      ")",
      "!",
      "`",
      "*",
      "_",
      "|",
      "\n",
      " ",
      "- ",
      "> ",
      "1. ",
      "#",
      "&lt;",
      "~~",
      "\\",
    ],
    ...["javascript:", "https://a.b/", "onload=", "<script", "<img ", "x"],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      requireSafe(markdown(pieces.join("")));
    }),
    runs(),
  );
  for (
    const text of [
      "[".repeat(3_000),
      "> ".repeat(2_000),
      "*a".repeat(3_000),
      "- ".repeat(1_000),
      "`".repeat(3_000),
    ]
  ) {
    requireSafe(markdown(text));
  }
});
