import assert from "node:assert/strict";
import { CallIds } from "../../src/models/_call_ids.ts";

const long = "x".repeat(90);

Deno.test.each([
  ["as they are", ["a", "b", "e41_0"], ["a", "b", "e41_0"]],
  ["with 64 characters", ["x".repeat(64)], ["x".repeat(64)]],
  ["without a character", ["", ""], ["call", "call_2"]],
  ["that clash", ["a", "a", "a"], ["a", "a_2", "a_3"]],
  ["that clash with a rewritten one", ["a", "a", "a_2"], ["a", "a_2", "a_2_2"]],
])("CallIds.call() names calls %s", (_, ids, wire) => {
  const names = new CallIds();
  assert.deepEqual(ids.map((id) => names.call(id)), wire);
});

Deno.test("CallIds.call() shortens long ids, each to one of its own", () => {
  const names = new CallIds();
  const wire = [`${long}1`, `${long}2`, `${long}1`].map((id) => names.call(id));
  assert.equal(new Set(wire).size, 3);
  assert.ok(wire.every(({ length }) => length <= 64));
  assert.equal(names.result(`${long}2`), wire[1]);
});

Deno.test("CallIds.call() gives the same names, whatever comes behind", () => {
  const ids = ["a", "", "a", long, "", long];
  const whole = new CallIds();
  const wire = ids.map((id) => whole.call(id));
  for (let count = 0; count <= ids.length; count++) {
    const names = new CallIds();
    assert.deepEqual(ids.slice(0, count).map((id) => names.call(id)), wire.slice(0, count));
  }
});

Deno.test("CallIds.result() finds the open call of its id in the nearest message, first come first", () => {
  const names = new CallIds();
  names.next();
  assert.deepEqual([names.call("a"), names.call("a")], ["a", "a_2"]);
  names.next();
  assert.deepEqual([names.call("a"), names.call("a")], ["a_3", "a_4"]);
  assert.deepEqual(Array.from({ length: 4 }, () => names.result("a")), ["a_3", "a_4", "a", "a_2"]);
});

Deno.test("CallIds.result() names a result without a call by its own id", () => {
  const names = new CallIds();
  assert.deepEqual([names.result("a"), names.result("")], ["a", "call"]);
});

Deno.test("CallIds.call() names many calls of one id in little time", () => {
  const names = new CallIds();
  const wire = Array.from({ length: 50_000 }, () => names.call("a"));
  assert.equal(new Set(wire).size, wire.length);
});
