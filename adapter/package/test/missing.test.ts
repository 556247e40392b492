/** What happens where the addon cannot be had (F2, O12, portal.md D4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "../addon.ts";
import { missingText, tellMissing } from "../missing.ts";

const absent = () => {
	throw Object.assign(new Error("Cannot find module"), { code: "MODULE_NOT_FOUND" });
};

/** Loads with files that are either values or errors to throw. */
function loading(files: Record<string, unknown>, platform = "linux") {
	const asked: string[] = [];
	const require = (file: string) => {
		asked.push(file);
		const found = files[file];
		if (found === undefined) absent();
		if (found instanceof Error) throw found;
		return found;
	};
	return { result: load(require, platform, "x64"), asked };
}

test("on Linux the file for the other C library is tried too", () => {
	const addon = { ABI: 2 };
	const gnu = loading({ "./gortex-pi.linux-x64-gnu.node": addon });
	assert.deepEqual(gnu, { result: { addon }, asked: ["./gortex-pi.linux-x64-gnu.node"] });
	const musl = loading({
		"./gortex-pi.linux-x64-gnu.node": new Error("libc.so.6: not found"),
		"./gortex-pi.linux-x64-musl.node": addon,
	});
	assert.deepEqual(musl.result, { addon });
});

test("the optional package of the platform is asked where no file lies beside the entry", () => {
	const addon = { ABI: 2 };
	const installed = loading({ "@gortex-pi/addon-linux-x64-gnu": addon });
	assert.deepEqual(installed, {
		result: { addon },
		asked: ["./gortex-pi.linux-x64-gnu.node", "@gortex-pi/addon-linux-x64-gnu"],
	});
	const musl = loading({
		"@gortex-pi/addon-linux-x64-gnu": new Error("libc.so.6: not found"),
		"@gortex-pi/addon-linux-x64-musl": addon,
	});
	assert.deepEqual(musl.result, { addon });
});

test("elsewhere there is one file", () => {
	const { result, asked } = loading({}, "darwin");
	assert.deepEqual(asked, ["./gortex-pi.darwin-x64.node", "@gortex-pi/addon-darwin-x64"]);
	assert.deepEqual(result, { missing: { file: "gortex-pi.darwin-x64.node", cause: "the file is not there" } });
});

test("a file that does not load is named, rather than one that is not there", () => {
	const { result } = loading({ "./gortex-pi.linux-x64-gnu.node": new Error("invalid ELF header") });
	assert.deepEqual(result, { missing: { file: "gortex-pi.linux-x64-gnu.node", cause: "invalid ELF header" } });
	const nothing = loading({});
	assert.deepEqual(nothing.result, {
		missing: { file: "gortex-pi.linux-x64-gnu.node", cause: "the file is not there" },
	});
});

test("an addon of another interface is not used", () => {
	for (const addon of [{ ABI: 1 }, {}, null]) {
		const { result } = loading({ "./gortex-pi.linux-x64-gnu.node": addon });
		assert.ok("missing" in result && /interface/.test(result.missing.cause), JSON.stringify(result));
	}
});

/** Pi, as far as the fallback uses it. */
function pi() {
	let handler: (event: unknown, ctx: unknown) => unknown = () => undefined;
	const events: string[] = [];
	return {
		on(event: string, added: typeof handler) {
			events.push(event);
			handler = added;
		},
		events,
		turn: (branch: () => unknown[]) => handler({}, { sessionManager: { getBranch: branch } }),
	};
}

const missing = { file: "gortex-pi.linux-x64-gnu.node", cause: "invalid ELF header" };

test("the first turn is told once, hidden", () => {
	const host = pi();
	tellMissing(host as never, missing);
	assert.deepEqual(host.events, ["before_agent_start"]);
	const content = missingText(missing);
	assert.match(content, /gortex-pi\.linux-x64-gnu\.node.*\n.*linux.*\n.*invalid ELF header/);
	assert.deepEqual(host.turn(() => []), { message: { customType: "gortex", content, display: false } });
	assert.equal(host.turn(() => []), undefined);
});

test("a resumed session that holds it is not told again, a stale one still is", () => {
	const entry = { type: "custom_message", customType: "gortex", content: missingText(missing) };
	const resumed = pi();
	tellMissing(resumed as never, missing);
	assert.equal(resumed.turn(() => [entry]), undefined);
	const stale = pi();
	tellMissing(stale as never, missing);
	assert.ok(stale.turn(absent));
});
