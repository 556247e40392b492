/** A thread that ends without a word, as the session of an embedder may, leaves no hook child behind (H8, H9). */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, createReadStream, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Worker } from "node:worker_threads";

const folder = mkdtempSync(join(tmpdir(), "gortex-worker-"));
const line = join(folder, "line");
execFileSync("mkfifo", [line]);
/** Who took up the line, in their order. */
const holders: number[] = [];
after(() => {
	// Those that a failed test leaves: the reading thread would wait for them.
	for (const pid of holders) {
		try {
			process.kill(pid, "SIGKILL");
		} catch {
			// It has ended, as it should.
		}
	}
	rmSync(folder, { recursive: true, force: true });
});

// It holds the line from its start to its end, and says who it is.
const program = join(folder, "gortex");
writeFileSync(program, `#!/bin/sh\nexec 3>'${line}'\necho $$ >&3\ncat > /dev/null\nprintf '{}'\n`, { mode: 0o755 });

/** A session that begins a run and waits for its end. */
const session = `
const { parentPort, workerData: { addon, program, cwd } } = require("node:worker_threads");
const { Adapter } = require(addon);
const tools = () => JSON.stringify([{ name: "mcp__gortex__read", exposure: "direct" }]);
const environment = { vars: { PATH: process.env.PATH, GORTEX_BIN: program }, home: cwd, cwd };
const adapter = new Adapter(JSON.stringify(environment), tools, () => "[]", () => {});
const commands = [{ name: "mcp", sourcePath: "builtin:mcp" }];
adapter.sessionStart(JSON.stringify({ cwd, sessionId: "s", reason: "startup", hasUi: false, commands }), () => null);
adapter.beforeAgentStart(JSON.stringify({ sessionId: "s", cwd }), null).then(() => parentPort.postMessage("begun"));
setInterval(() => {}, 1000);
`;

test("h8 h9 the child that waits ends with the thread of its session", { timeout: 30_000 }, async () => {
	const addon = createRequire(import.meta.url).resolve("../gortex-pi.linux-x64-gnu.node");
	// Held here too, or the line could end between the first child and the second.
	const held = openSync(line, "r+");
	const reader = createReadStream(line, { encoding: "utf8" });
	const ended = once(reader, "end");
	const waits = new Promise<void>((resolve) => {
		let told = "";
		reader.on("data", (text) => {
			told += text;
			holders.splice(0, holders.length, ...told.split("\n").slice(0, -1).map(Number));
			// The first is asked for the briefing.
			if (holders.length === 2) resolve();
		});
	});
	const worker = new Worker(session, { eval: true, workerData: { addon, program, cwd: folder } });
	await Promise.all([once(worker, "message"), waits]);
	const [, waiting] = holders;
	assert.ok(waiting !== undefined && process.kill(waiting, 0), "it waits");
	await worker.terminate();
	closeSync(held);
	await ended;
});
