/**
 * What the real Gemini service refuses of a `generateContent` request, written from its wire rules and from nothing of
 * ours.
 */
import { hasHalfPair, isJson, type Json } from "./wire_json.ts";

/** What the service goes by beside the request. */
export interface Limits {
  /** The most tokens that a request may ask for. */
  readonly maxOutput: number;
  /** True where calls without the signature that they came with are refused. */
  readonly signs: boolean;
  /** Signatures that were given out, with the part that each stood on. */
  readonly issued: ReadonlyMap<string, string>;
}

const FIELDS = new Set(
  "contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent".split(" "),
);

const GENERATION = new Set(
  ("maxOutputTokens temperature topP topK stopSequences seed candidateCount responseMimeType responseSchema " +
    "presencePenalty frequencyPenalty thinkingConfig responseModalities").split(" "),
);

const KINDS = [
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
];

const PART_FIELDS = new Set([...KINDS, "thought", "thoughtSignature", "videoMetadata"]);
const UNSIGNED = "skip_thought_signature_validator";
const NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/;

class Refused extends Error {}

/** Checks everything about a body but its length; null where the service would take it. */
export function findRefusal(body: unknown, limits: Limits): string | null {
  try {
    if (hasHalfPair(body)) {
      throw new Refused("The request body is not valid JSON: no low surrogate in string");
    }
    checkBody(body, limits);
    return null;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return error.message;
  }
}

function checkBody(body: unknown, limits: Limits): void {
  if (!isJson(body)) throw new Refused("Invalid JSON payload received.");
  checkNames(body, FIELDS, "");
  if (body.systemInstruction !== undefined) checkSystem(body.systemInstruction);
  if (body.tools !== undefined) checkTools(body.tools);
  const { generationConfig = {} } = body;
  if (!isJson(generationConfig)) throw new Refused("Invalid value at 'generation_config'");
  checkNames(generationConfig, GENERATION, " at 'generation_config'");
  const { maxOutputTokens } = generationConfig;
  if (maxOutputTokens !== undefined) {
    const isInRange = Number.isInteger(maxOutputTokens) && Number(maxOutputTokens) > 0 &&
      Number(maxOutputTokens) <= limits.maxOutput;
    if (!isInRange) {
      throw new Refused(
        `Unable to submit request because it has a maxOutputTokens value of ${maxOutputTokens} but the supported ` +
          `range is from 1 (inclusive) to ${limits.maxOutput + 1} (exclusive).`,
      );
    }
  }
  if (!Array.isArray(body.contents) || body.contents.length === 0) {
    throw new Refused("* GenerateContentRequest.contents: contents is not specified");
  }
  checkContents(body.contents, limits);
}

function checkNames(value: Json, known: ReadonlySet<string>, at: string): void {
  const unknown = Object.keys(value).find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new Refused(`Invalid JSON payload received. Unknown name "${unknown}"${at}: Cannot find field.`);
  }
}

function checkSystem(system: unknown): void {
  const parts = isJson(system) ? system.parts : undefined;
  if (!Array.isArray(parts) || parts.length === 0) {
    throw new Refused("* GenerateContentRequest.system_instruction.parts: must not be empty.");
  }
  for (const part of parts) {
    if (!isJson(part) || typeof part.text !== "string" || part.text === "") {
      throw new Refused("* GenerateContentRequest.system_instruction.parts: only text is supported.");
    }
  }
}

function checkTools(tools: unknown): void {
  if (!Array.isArray(tools)) throw new Refused("Invalid value at 'tools'");
  const names = new Set<string>();
  for (const tool of tools) {
    const declarations = isJson(tool) ? tool.functionDeclarations : undefined;
    if (!Array.isArray(declarations) || declarations.length === 0) {
      throw new Refused("tools[0].tool_type: required one_of 'tool_type' must have one initialized field");
    }
    for (const declared of declarations) {
      const name = isJson(declared) ? declared.name : undefined;
      if (typeof name !== "string" || !NAME.test(name)) {
        throw new Refused(
          "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), " +
            "underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
        );
      }
      if (names.has(name)) throw new Refused(`Duplicate function declaration found: ${name}`);
      names.add(name);
    }
  }
}

function checkContents(contents: readonly unknown[], limits: Limits): void {
  // Calls of the turn of the model that is directly before; null where there are none.
  let open: readonly Json[] | null = null;
  let before = "";
  const asked = contents.findLastIndex((content) => isJson(content) && isAsked(content));
  for (const [index, content] of contents.entries()) {
    const at = `contents[${index}]`;
    if (!isJson(content)) throw new Refused(`Invalid value at '${at}'`);
    if (content.role !== "user" && content.role !== "model") {
      throw new Refused("Please use a valid role: user, model.");
    }
    const parts = partsOf(content);
    if (parts.length === 0) throw new Refused(`* GenerateContentRequest.${at}.parts: must not be empty.`);
    for (const [place, part] of parts.entries()) checkPart(part, `${at}.parts[${place}]`);
    const calls = parts.flatMap(({ functionCall }) => isJson(functionCall) ? [functionCall] : []);
    const answers = parts.flatMap(({ functionResponse }) =>
      isJson(functionResponse) ? [functionResponse] : []
    );
    if (content.role === "user" ? calls.length > 0 : answers.length > 0) {
      throw new Refused(`${at}: a function call is the model's, a function response the user's.`);
    }
    if (answers.length > 0 && open === null) {
      throw new Refused(
        "Please ensure that function response turn comes immediately after a function call turn.",
      );
    }
    if (open !== null) checkAnswers(open, answers);
    if (calls.length > 0 && before !== "user") {
      throw new Refused(
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      );
    }
    if (content.role === "model") checkSignatures(parts, limits, { isAnswer: index > asked });
    open = calls.length > 0 ? calls : null;
    before = content.role;
  }
  if (before !== "user") {
    throw new Refused(
      "Please ensure that multiturn requests end with a user role or a function response.",
    );
  }
}

/** Whether a turn is what somebody asked, and not a tool's answer. */
function isAsked(content: Json): boolean {
  return content.role === "user" && !partsOf(content).some((part) => part.functionResponse !== undefined);
}

/** The parts of a content. */
export function partsOf({ parts }: Json): readonly Json[] {
  return Array.isArray(parts) ? parts.filter(isJson) : [];
}

function checkPart(part: Json, at: string): void {
  checkNames(part, PART_FIELDS, ` at '${at}'`);
  const kinds = KINDS.filter((kind) => part[kind] !== undefined);
  if (kinds.length !== 1) {
    throw new Refused(
      `* GenerateContentRequest.${at}.data: required oneof field 'data' must have one initialized field`,
    );
  }
  const { fileData, functionCall, functionResponse, inlineData, text, thoughtSignature } = part;
  if (text !== undefined && (typeof text !== "string" || text === "" && thoughtSignature === undefined)) {
    throw new Refused(`Unable to submit request because ${at} must have a text parameter.`);
  }
  if (isJson(inlineData)) {
    const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(String(inlineData.data));
    if (!isBase64) throw new Refused(`Invalid value at '${at}.inline_data.data' (TYPE_BYTES)`);
    if (!/^[\w.+-]+\/[\w.+-]+$/.test(String(inlineData.mimeType))) {
      throw new Refused(`Unsupported MIME type: ${inlineData.mimeType}`);
    }
  }
  if (isJson(fileData) && !/^(https?|gs):/.test(String(fileData.fileUri))) {
    throw new Refused(`Invalid or unsupported file uri: ${fileData.fileUri}`);
  }
  if (functionCall !== undefined) checkCall(functionCall, "args", at);
  if (functionResponse !== undefined) checkCall(functionResponse, "response", at);
}

function checkCall(call: unknown, field: string, at: string): void {
  if (!isJson(call) || typeof call.name !== "string" || call.name === "") {
    throw new Refused(`* GenerateContentRequest.${at}.name: Name cannot be empty.`);
  }
  if (!isJson(call[field])) {
    throw new Refused(`Invalid value at '${at}.${field}' (type.googleapis.com/Struct)`);
  }
}

function checkAnswers(calls: readonly Json[], answers: readonly Json[]): void {
  if (calls.length !== answers.length) {
    throw new Refused(
      "Please ensure that the number of function response parts is equal to the number of function call parts of " +
        "the function call turn.",
    );
  }
  // By id where it has one, else by name; each answers one call.
  const open = [...calls];
  for (const { id, name } of answers) {
    const place = open.findIndex((call) => id === undefined ? call.name === name : call.id === id);
    const [call] = place < 0 ? [] : open.splice(place, 1);
    if (call?.name !== name) {
      throw new Refused(
        `Function response ${id ?? ""} ${name} does not match a function call of the turn before.`,
      );
    }
  }
}

/** Signatures come back as they were, where they were; calls of the turn that is being answered not without. */
function checkSignatures(
  parts: readonly Json[],
  { issued, signs }: Limits,
  { isAnswer }: { readonly isAnswer: boolean },
): void {
  for (const { thoughtSignature, ...part } of parts) {
    if (thoughtSignature === undefined) continue;
    // What the service has clients send for calls of other models.
    if (thoughtSignature === UNSIGNED && part.functionCall !== undefined) continue;
    const stood = issued.get(String(thoughtSignature));
    if (stood === undefined || stood !== kindOf(part)) throw new Refused("Corrupted thought signature.");
  }
  const [first] = parts.filter(({ functionCall }) => functionCall !== undefined);
  if (signs && isAnswer && first !== undefined && first.thoughtSignature === undefined) {
    throw new Refused(
      "Function call is missing a thought_signature in functionCall parts. This is required for tools to work " +
        "correctly, and missing thought_signature may lead to degraded model performance.",
    );
  }
}

/** What of a part has to be the same when its signature comes back. */
export function kindOf({ functionCall, text }: Json): string {
  return isJson(functionCall) ? `${functionCall.name} ${JSON.stringify(functionCall.args)}` : `text ${text}`;
}
