/** Facts that JSON cannot say, and patches made of differences (O11). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { applied, commandResults, encode, message, send, simplified } from "../facts.ts";

test("results of the person's own commands are counted on all branches", () => {
	const entries = [
		{ type: "message", message: { role: "bashExecution" } },
		{ type: "message", message: { role: "user" } },
		{ type: "custom", data: { role: "bashExecution" } },
		{ type: "message", message: { role: "bashExecution", excludeFromContext: true } },
	];
	const ctx = { sessionManager: { getEntries: () => entries } };
	assert.equal(commandResults(ctx as never), 2);
});

test("what can be said is said as it is", () => {
	const facts = { id: "c1", input: { path: "a", n: 1.5, none: null }, content: [{ type: "text" }] };
	assert.equal(encode(facts), JSON.stringify(facts));
});

test("a member that cannot be said costs that member only", () => {
	const input: Record<string, unknown> = { path: "a", big: 2n ** 70n, call: () => 1 };
	input.self = input;
	input.list = [input];
	Object.defineProperty(input, "trap", {
		enumerable: true,
		get() {
			throw new Error("no");
		},
	});
	assert.deepEqual(JSON.parse(encode({ id: "c1", input })), {
		id: "c1",
		input: { path: "a", big: "1180591620717411303424", self: null, list: [null] },
	});
});

test("the same object twice is no cycle", () => {
	const shared = { a: 1 };
	assert.deepEqual(JSON.parse(encode({ big: 1n, x: shared, y: shared })), { big: "1", x: { a: 1 }, y: { a: 1 } });
});

test("a member named __proto__ stays a member", () => {
	const text = JSON.stringify(simplified(JSON.parse('{"__proto__": {"a": 1}, "b": 2}')));
	assert.equal(text, '{"__proto__":{"a":1},"b":2}');
});

test("nesting and width are bounded", () => {
	let deep: unknown = "end";
	for (let i = 0; i < 50_000; i++) deep = [deep];
	assert.ok(JSON.stringify(simplified(deep)).length < 1000);
	// Each level names the next one twenty times: 20^8 paths through nine objects.
	let wide: unknown = {};
	for (let i = 0; i < 8; i++) wide = Array(20).fill(wide);
	assert.ok(JSON.stringify(simplified(wide)).length < 1_000_000);
});

test("facts that the taker refuses are tried once more, simplified", () => {
	const taken: string[] = [];
	const answer = send({ a: 1n }, (text) => {
		taken.push(text);
		return "read";
	});
	assert.deepEqual([answer, taken], ["read", ['{"a":"1"}']]);

	let tries = 0;
	assert.throws(() =>
		send({}, () => {
			tries += 1;
			throw new Error("unreadable");
		}),
	);
	assert.equal(tries, 2);
});

test("a patch keeps Pi's own values where nothing changed", () => {
	const block = { type: "text", text: "\ud800" };
	const details = { n: 10n, tool: "edit" };
	const structuredContent = { s: "\udc00" };
	const patch = applied(
		{ content: [block], details, structuredContent },
		{
			content: { keep: 1, then: [{ type: "text", text: "guidance" }] },
			details: { merge: { diff: "+1 a" } },
			structuredContent: { merge: {} },
		},
	);
	assert.deepEqual(Object.keys(patch), ["content", "details", "structuredContent"]);
	assert.equal(patch.content[0], block);
	assert.deepEqual(patch.content[1], { type: "text", text: "guidance" });
	assert.deepEqual(patch.details, { n: 10n, tool: "edit", diff: "+1 a" });
	assert.equal(patch.structuredContent, structuredContent);
});

test("a patch sets what is to be set and nothing else", () => {
	assert.deepEqual(applied({ details: { a: 1 } }, { details: { set: { b: 2 } }, isError: false }), {
		details: { b: 2 },
		isError: false,
	});
	assert.deepEqual(applied({ details: { a: 1 } }, {}), {});
});

test("whatever is thrown becomes one bounded line", () => {
	assert.equal(message(new Error("two\nlines\u0007")), "two lines");
	assert.equal(message("text"), "text");
	assert.equal(message(Object.create(null)), "unknown error");
	assert.equal(message(new Error("x".repeat(5000))).length, 1000);
	assert.equal(message(new Error("\ud800")), "\ufffd");
});
