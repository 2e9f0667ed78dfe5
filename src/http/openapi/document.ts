/**
 * The OpenAPI 3.1 document, made from the table of routes.
 *
 * @module
 */
import * as z from "zod";
import type { JsonObject } from "../../formats/format.ts";
import { VERSION } from "../../version.ts";
import { refuseOpenAI } from "../openai_errors.ts";
import { STATUS, statusOf } from "../problem.ts";
import { openaiError } from "./answers.ts";
import { EVENTS } from "./events.ts";
import { type Answer, DOOR, NO_ROUTE, type Operation, OPERATIONS } from "./operations.ts";

/** What of the document its page reads. */
export interface OpenApiDocument extends JsonObject {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: JsonObject & { readonly schemas: Readonly<Record<string, JsonObject>> };
}

/** One route of the document. */
export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly security: readonly JsonObject[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: JsonObject;
  }[];
  readonly requestBody?: { readonly required: boolean; readonly content: JsonObject };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: JsonObject }>
  >;
}

const TAGS: Readonly<Record<Operation["tag"], string>> = {
  turns: "Runs the loop of an agent, as a stream of events or as one document",
  sessions: "What is kept: every original, and what the model is shown of it",
  transcripts: "Anybody's transcript, without the loop",
  openai: "Agents as the models of OpenAI's protocol",
  chat: "The protocol of `useChat` of the AI SDK",
  agui: "The protocol of AG-UI",
  service: "The service itself",
};

const PARAMETERS: Readonly<Record<string, string>> = {
  id: "Its id",
  step: "Number of the step, from 1",
  ref: "`e41`, `e41.0` or `e3..e17`",
};

/** Schemas that others refer to by their names. */
class Schemas {
  readonly found: Record<string, JsonObject> = {};

  /** A schema as JSON Schema; what has a name becomes a reference. */
  of(schema: z.ZodType): JsonObject {
    const made = z.toJSONSchema(z.object({ it: schema }), { io: "input", unrepresentable: "any" });
    const text = JSON.stringify(made).replaceAll("#/$defs/", "#/components/schemas/");
    const { $defs = {}, properties } = JSON.parse(text);
    for (const [name, { id: _, ...found }] of Object.entries<JsonObject>($defs)) {
      const there = this.found[name];
      if (name.startsWith("__") || (there !== undefined && JSON.stringify(there) !== JSON.stringify(found))) {
        throw new TypeError(`Cannot make the OpenAPI document: found two schemas named ${name}, wanted one`);
      }
      this.found[name] = found;
    }
    return properties.it;
  }
}

function problemOf(codes: readonly string[]): JsonObject {
  return { allOf: [ref("Problem"), { properties: { code: { enum: codes } } }] };
}

function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** The codes of a route by the status that they come with. */
function refusalsOf({ codes = [], fieldCodes = [], errors, isPublic }: Operation): Map<number, string[]> {
  const found = new Map<number, string[]>();
  const add = (code: string, field?: string): void => {
    const problem = { code, detail: "", ...(field === undefined ? {} : { fields: { field } }) };
    const status = errors === "openai" ? refuseOpenAI(problem, {}).status : statusOf(problem);
    const there = found.get(status) ?? [];
    if (!there.includes(code)) found.set(status, [...there, code]);
  };
  for (const code of [...(isPublic ? [] : DOOR), ...codes]) add(code);
  for (const code of fieldCodes) add(code, "field");
  return found;
}

function refusal(codes: readonly string[], errors: Operation["errors"]): JsonObject {
  const description = codes.map((code) => `\`${code}\``).join(", ");
  if (errors === "chat") return { description, content: { "text/plain": { schema: { type: "string" } } } };
  return errors === "openai"
    ? { description, content: { "application/json": { schema: ref("OpenAIError") } } }
    : { description, content: { "application/problem+json": { schema: problemOf(codes) } } };
}

function answered({ description, schema, stream, type }: Answer, schemas: Schemas): JsonObject {
  const content = {
    ...(schema === undefined ? {} : { "application/json": { schema: schemas.of(schema) } }),
    ...(stream === undefined ? {} : {
      "text/event-stream": { schema: stream === "turn" ? ref("TurnEvent") : { type: "string" } },
    }),
    ...(type === undefined ? {} : { [type]: { schema: { type: "string" } } }),
  };
  return { description, ...(Object.keys(content).length === 0 ? {} : { content }) };
}

function operationOf(path: string, operation: Operation, schemas: Schemas): OperationObject {
  const { id, tag, summary, query = {}, headers = {}, body, answers, errors, isPublic } = operation;
  const text = { type: "string" };
  const named = (where: string) => ([name, description]: [string, string]) => ({
    name,
    in: where,
    description,
    schema: text,
  });
  const responses: Record<string, JsonObject> = {};
  for (const [status, codes] of refusalsOf(operation)) responses[status] = refusal(codes, errors);
  for (const [status, answer] of Object.entries(answers)) responses[status] = answered(answer, schemas);
  return {
    operationId: id,
    tags: [tag],
    summary,
    security: isPublic ? [] : [{ bearer: [] }, { apiKey: [] }, {}],
    parameters: [
      ...Array.from(path.matchAll(/:(\w+)/g), ([, name = ""]) => ({
        ...named("path")([name, PARAMETERS[name] ?? name]),
        required: true,
      })),
      ...Object.entries(query).map(named("query")),
      ...Object.entries(headers).map(named("header")),
    ],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: schemas.of(body) } } } }),
    responses: responses as OperationObject["responses"],
  };
}

/** The events of a turn: each as its id, its name, and its data, which is JSON on the wire. */
function eventsIn(schemas: Schemas): void {
  const names = Object.entries(EVENTS).map(([event, schema]) => {
    const name = `Event.${event}`;
    const { description, ...data } = schemas.of(schema);
    schemas.found[name] = {
      type: "object",
      description,
      properties: { id: { type: "string", description: "`<turn>:<n>`" }, event: { const: event }, data },
      required: ["id", "event", "data"],
    };
    return name;
  });
  schemas.found["TurnEvent"] = {
    description: "One event of a stream; `data` is JSON",
    oneOf: names.map(ref),
    discriminator: {
      propertyName: "event",
      mapping: Object.fromEntries(
        names.map((name) => [name.slice("Event.".length), `#/components/schemas/${name}`]),
      ),
    },
  };
}

/**
 * Makes the document.
 *
 * @param base Path that the service is mounted at, without a slash at its end.
 */
export function openApiDocument(base = ""): OpenApiDocument {
  const schemas = new Schemas();
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const [route, operation] of Object.entries(OPERATIONS)) {
    const [method = "", path = ""] = route.split(" ");
    const at = paths[path.replaceAll(/:(\w+)/g, "{$1}")] ??= {};
    at[method.toLowerCase()] = operationOf(path, operation, schemas);
  }
  eventsIn(schemas);
  schemas.found["OpenAIError"] = schemas.of(openaiError);
  const codes = [...Object.keys(STATUS), "internal"].sort();
  schemas.found["Problem"] = {
    type: "object",
    description: "What went wrong (RFC 9457). Further fields are facts that a caller can act on",
    properties: {
      type: { const: "about:blank" },
      title: { type: "string" },
      status: { type: "integer" },
      detail: { type: "string", description: "A sentence for people" },
      code: { enum: codes, description: "For programs" },
    },
    required: ["type", "title", "status", "detail", "code"],
  };
  return {
    openapi: "3.1.1",
    info: { title: "Selvage", version: VERSION, description: "Runs the tool loop of an LLM agent." },
    servers: [{ url: base === "" ? "/" : base }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas.found).sort(([a], [b]) => a < b ? -1 : 1)),
      responses: Object.fromEntries(
        NO_ROUTE.map((code) => [code, refusal([code], undefined)]),
      ),
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "A key of the service, or a token" },
        apiKey: { type: "apiKey", in: "header", name: "x-api-key", description: "A key of the service" },
      },
    },
  };
}
