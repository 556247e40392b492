/** What the terminal draws of a graph tool's result (E7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { initTheme, type ToolRenderers } from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";
import { drawn, drawsDiffs } from "../draw.ts";

initTheme("dark", false);

const theme = { fg: (_color: string, text: string) => text };

/** The lines of a result, without colours; Pi's own renderer draws the one word "reply". */
function lines(toolName: string, details: unknown, { expanded = false, isError = false } = {}): string[] {
	const base: ToolRenderers = { renderCall: () => new Text("call", 0, 0), renderResult: () => new Text("reply", 0, 0) };
	const renderers = drawsDiffs(toolName, () => base);
	assert.equal(renderers?.renderCall, base.renderCall);
	const result = { content: [], details };
	const component = renderers?.renderResult?.(result, { expanded, isPartial: false }, theme as never, { isError } as never);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what is left out.
	return (component?.render(60) ?? []).map((line) => line.replace(/\u001b\[[0-9;]*m/g, "").trimEnd());
}

const diff = " 1 a\n-2 b\n+2 c";
const one = { diffs: [{ path: "x.rs", diff, patch: "" }] };

test("a diff stands in place of the reply, and above it once expanded", () => {
	assert.deepEqual(lines("mcp__gortex__edit", one), ["", " 1 a", "-2 b", "+2 c"]);
	assert.deepEqual(lines("mcp__gortex__edit", one, { expanded: true }), ["", " 1 a", "-2 b", "+2 c", "reply"]);
});

test("of several files each is named, and a note stands where a diff cannot", () => {
	const details = { diffs: [{ path: "x.rs", diff }, { path: "y.rs", note: "No diff." }] };
	assert.deepEqual(lines("mcp__gortex__edit", details), ["", "x.rs", " 1 a", "-2 b", "+2 c", "", "y.rs", "No diff."]);
});

test("without a diff, after a failure and for other tools, Pi draws as ever", () => {
	for (const details of [undefined, null, 1, {}, { diffs: {} }, { diffs: [] }, { diffs: [null, 1, { path: 1 }, { path: "x" }] }]) {
		assert.deepEqual(lines("mcp__gortex__edit", details), ["reply"], JSON.stringify(details));
	}
	assert.deepEqual(lines("mcp__gortex__edit", one, { isError: true }), ["reply"]);
	assert.deepEqual(lines("mcp__other__edit", one), ["reply"]);
	assert.deepEqual(lines("edit", one), ["reply"]);
	assert.equal(drawsDiffs("mcp__gortex__edit", () => undefined), undefined);
});

test("a file cannot steer the terminal", () => {
	const [entry] = drawn({ diffs: [{ path: "a\u001b]0;x\u0007\nb", diff: "+1 \u001b[2J\tx\r\u009b" }] });
	assert.deepEqual(entry, { path: "a\ufffd]0;x\ufffd b", diff: "+1 \ufffd[2J\tx\ufffd\ufffd", note: undefined });
});
