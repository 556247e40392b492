// One session of the addon as the extension drives it: a hook program, a run, and calls in it.
import { createRequire } from "node:module";
import { tmpdir } from "node:os";

/** Begins a run. `warm` says whether a hook child may wait. */
export async function session(file, program, warm) {
	const addon = createRequire(import.meta.url)(file);
	const vars = { ...process.env, GORTEX_BIN: program, GORTEX_WARM_HOOK: warm ? "1" : "0" };
	const tools = () => JSON.stringify([{ name: "mcp__gortex__read", exposure: "direct" }]);
	const environment = JSON.stringify({ vars, home: tmpdir(), cwd: process.cwd() });
	const adapter = new addon.Adapter(environment, tools, () => "[]", () => {});
	const cwd = tmpdir();
	const facts = { cwd, sessionId: "s", reason: "startup", hasUi: false, commands: [{ name: "mcp", sourcePath: "builtin:mcp" }] };
	adapter.sessionStart(JSON.stringify(facts), () => null);
	await adapter.beforeAgentStart(JSON.stringify({ sessionId: "s", cwd }), null);
	// As the extension has it: one for each run.
	const abort = new addon.AbortHandle();
	let calls = 0;
	return {
		/** One call, as the extension's handler makes it. */
		call: async () => {
			const id = `c${calls++}`;
			const text = JSON.stringify({ id, name: "read", input: { path: "src/lib.rs" }, cwd, sessionId: "s" });
			const reason = await adapter.toolCall(text, abort);
			if (reason !== null) throw new Error(`blocked: ${reason}`);
		},
		/** Ends the turn, as Pi does after each answer with calls. */
		turnEnd: () => adapter.turnEnd(),
		end: () => {
			adapter.agentSettled();
			adapter.sessionShutdown();
		},
	};
}
