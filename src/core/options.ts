/**
 * Options that callers give: each name is known, each value is of its kind. What is misspelt would be passed over
 * otherwise, and a limit that is passed over is no limit.
 *
 * @module
 */

/** A value in a few words. */
export function sayValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "function") return "a function";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return String(value);
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
}

/** What is wrong with a value, and where in it. */
export interface Fault {
  /** The way to it, for example `compaction.compactAt` or `tools[1]`; empty for the value itself. */
  readonly field: string;
  readonly found: string;
  readonly wanted: string;
}

/** Says what is wrong with a value; null where nothing is. */
export type Rule = (value: unknown) => Fault | null;

/** A rule for each option of a type: one that is added to the type is asked for here by the compiler. */
export type Rules<T> = Readonly<Record<keyof T, Rule>>;

/** A rule by a test, and what it wants in words. */
export function rule(wanted: string, isFit: (value: unknown) => boolean): Rule {
  return (value) => isFit(value) ? null : { field: "", found: sayValue(value), wanted };
}

/** The rules that most options have. */
export const anything: Rule = () => null;
export const text: Rule = rule("text", (value) => typeof value === "string");
/** What is empty, as a variable that is not set, names nothing. */
export const aName: Rule = rule("a name", (value) => typeof value === "string" && value !== "");
export const yesOrNo: Rule = rule("true or false", (value) => typeof value === "boolean");
export const aFunction: Rule = rule("a function", (value) => typeof value === "function");
export const aClock: Rule = rule(
  "a clock with now() and sleep()",
  (value) => hasMethods(value, ["now", "sleep"]),
);

/** A number within bounds; `Infinity` stands for no limit where nothing is the most. */
export function number(wanted: string, { least, most = Infinity }: Bounds): Rule {
  return rule(wanted, (value) => typeof value === "number" && value >= least && value <= most);
}

/** A whole number within bounds. */
export function whole(wanted: string, { least, most = Infinity }: Bounds): Rule {
  return rule(
    wanted,
    (value) =>
      (Number.isInteger(value) || value === Infinity) && Number(value) >= least && Number(value) <= most,
  );
}

/** The least and the most of a number. */
interface Bounds {
  readonly least: number;
  readonly most?: number;
}

/** One of some words. */
export function oneOf(...words: readonly string[]): Rule {
  return rule(
    words.map((word) => JSON.stringify(word)).join(" or "),
    (value) => words.includes(value as string),
  );
}

/** Whether a value has methods of these names. */
export function hasMethods(value: unknown, names: readonly string[]): boolean {
  return (typeof value === "object" || typeof value === "function") && value !== null &&
    names.every((name) => typeof (value as Record<string, unknown>)[name] === "function");
}

/** A value that fits the first or, where it is a function, is let pass. */
export function orFunction(first: Rule): Rule {
  return (value) => typeof value === "function" ? null : alsoWanting(first(value), "a function");
}

/** Adds to what a fault of the value itself wants. */
function alsoWanting(fault: Fault | null, wanted: string): Fault | null {
  return fault === null || fault.field !== "" ? fault : { ...fault, wanted: `${fault.wanted}, or ${wanted}` };
}

/** A rule for what nobody may read in an error, such as a key. */
export function secret(of: Rule): Rule {
  return (value) => {
    const fault = of(value);
    return fault === null || !fault.found.startsWith('"') ? fault : { ...fault, found: "a text" };
  };
}

/** A list, each of whose members keeps to a rule. */
export function listOf(wanted: string, member: Rule): Rule {
  return (value) => {
    if (!Array.isArray(value)) return { field: "", found: sayValue(value), wanted };
    return firstFault(value.map((item, at) => [`[${at}]`, item, member]));
  };
}

/** Values by name, each of which keeps to a rule. */
export function byName(wanted: string, member: Rule): Rule {
  return (value) => {
    if (!isPlain(value)) return { field: "", found: sayValue(value), wanted };
    return firstFault(Object.entries(value).map(([name, item]) => [name, item, member]));
  };
}

/** An object of options: no name that is not known, and those that are needed. */
export function optionsOf<T>(rules: Rules<T>, needed: readonly (keyof T & string)[] = []): Rule {
  const names = Object.keys(rules);
  return (value) => {
    if (!isPlain(value)) {
      const of = needed.length === 0 ? names : needed;
      return { field: "", found: sayValue(value), wanted: `an object with ${of.join(", ")}` };
    }
    const unknown = Object.keys(value).find((name) => !Object.hasOwn(rules, name));
    if (unknown !== undefined) {
      const wanted = `only ${names.join(", ")}`;
      return { field: unknown.slice(0, 60), found: "an option that nobody knows", wanted };
    }
    return firstFault(
      Object.entries<Rule>(rules).flatMap(([name, of]) =>
        // Left out, and set to undefined, are the same to a caller in JavaScript.
        value[name] === undefined && !needed.includes(name as keyof T & string)
          ? []
          : [[name, value[name], of] as const]
      ),
    );
  };
}

/**
 * Lays options over others: what one leaves out, or sets to undefined, is that of the one below.
 *
 * @param lowest The options at the bottom.
 * @param above Those over it, the one that counts most last.
 */
export function layered<T extends object>(
  lowest: T,
  ...above: readonly { readonly [Name in keyof T]?: T[Name] | undefined }[]
): T {
  const set = above.flatMap((layer) => Object.entries(layer).filter(([, value]) => value !== undefined));
  return { ...lowest, ...Object.fromEntries(set) };
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function firstFault(items: readonly (readonly [name: string, value: unknown, rule: Rule])[]): Fault | null {
  for (const [name, value, of] of items) {
    const fault = of(value);
    if (fault === null) continue;
    const joint = fault.field === "" || fault.field.startsWith("[") ? "" : ".";
    return { ...fault, field: `${name}${joint}${fault.field}` };
  }
  return null;
}

/**
 * Throws where options are not what they have to be.
 *
 * @param action What cannot be done then: `Cannot ${action}: …`.
 * @param options What was given.
 * @param of What it has to be.
 * @throws {TypeError} Naming the field, what was found and what is wanted.
 */
export function requireOptions(action: string, options: unknown, of: Rule): void {
  const fault = of(options);
  if (fault === null) return;
  const { field, found, wanted } = fault;
  throw new TypeError(
    `Cannot ${action}: ${field === "" ? "" : `${field}: `}found ${found}, wanted ${wanted}`,
  );
}
