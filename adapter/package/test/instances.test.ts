/** Several instances in one process, on the real addon: nothing of one shows in another (R1, R11, B1, H1, H6, E1). */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { load } from "../addon.ts";
import gortex from "../index.ts";

const folder = mkdtempSync(join(tmpdir(), "gortex-instances-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/**
 * The hook: whatever it decides names the session that the envelope names.
 *
 * Asked about `held.rs` it answers only once `open-<session>` is there, so that several hooks run at one time and the
 * test chooses the order in which they end. It waits no longer than the folder exists: a failed test leaves none behind.
 */
const hook = `#!/bin/sh
cd '${folder}' || exit 1
envelope=$(cat)
session=$(printf %s "$envelope" | sed 's/.*"session_id":"\\([^"]*\\)".*/\\1/')
case $envelope in
*'"event":"session_start"'*)
	version=v0.64.5
	[ "$session" = session-b ] && version=v0.60.0
	printf '{"orientation":"✓ Gortex daemon ready (%s, uptime 1m). Briefing of %s."}' "$version" "$session"
	exit ;;
*held.rs*)
	: > "asked-$session"
	while [ -e "asked-$session" ] && ! [ -e "open-$session" ]; do sleep 0.01; done ;;
esac
case $envelope in
*blocked*) printf '{"block":true,"reason":"Blocked for %s."}' "$session" ;;
*) printf '{"additional_context":"Guidance for %s."}' "$session" ;;
esac
`;
const program = join(folder, "gortex");
writeFileSync(program, hook, { mode: 0o755 });

for (const name of Object.keys(process.env)) if (name.startsWith("GORTEX_")) delete process.env[name];
process.env.GORTEX_BIN = program;
process.env.PI_CODING_AGENT_DIR = join(folder, "agent");

type Handler = (event: object, ctx: object) => unknown;

/** One session of Pi, as far as an instance uses it. */
class Session {
	readonly id: string;
	readonly cwd: string;
	readonly registered: { command: string; env: Record<string, string> }[] = [];
	readonly notified: string[] = [];
	/** Whether Pi lists a graph tool by now. */
	connected = false;
	/** The signal of the run that is on. */
	signal?: AbortSignal;
	/** How often the instance asked for tools. */
	asked = 0;
	private readonly handlers = new Map<string, Handler>();
	private readonly ctx: object;

	constructor(letter: string, preset: string) {
		this.id = `session-${letter}`;
		this.cwd = join(folder, letter);
		mkdirSync(join(this.cwd, ".pi"), { recursive: true });
		writeFileSync(join(this.cwd, ".pi/gortex.json"), JSON.stringify({ tools_preset: preset }));
		this.ctx = {
			cwd: this.cwd,
			hasUI: true,
			sessionManager: { getSessionId: () => this.id, getBranch: () => [] },
			ui: { notify: (text: string) => this.notified.push(text) },
		};
		Object.defineProperty(this.ctx, "signal", { get: () => this.signal });
	}

	/** A session with an instance of its own. */
	static open(letter: string, preset: string, factory = gortex): Session {
		const session = new Session(letter, preset);
		const pi = {
			on: (event: string, handler: Handler) => session.handlers.set(event, handler),
			registerMcpServer: (_name: string, config: Session["registered"][number]) => session.registered.push(config),
			registerToolRenderer: () => undefined,
			getCommands: () => [{ name: "mcp", sourceInfo: { path: "builtin:mcp" } }],
			getAllTools: () => {
				session.asked += 1;
				return session.connected ? [{ name: "mcp__gortex__edit", exposure: "direct" }] : [];
			},
		};
		factory(pi as never);
		return session;
	}

	emit(event: string, facts: object = {}): unknown {
		return this.handlers.get(event)?.({ type: event, ...facts }, this.ctx);
	}

	/** What the first turn stores. */
	async brief(): Promise<string> {
		const answer = (await this.emit("before_agent_start")) as { message: { content: string } } | undefined;
		return answer?.message.content ?? "nothing";
	}

	call(toolCallId: string, toolName: string, input: object): Promise<unknown> {
		return Promise.resolve(this.emit("tool_call", { toolCallId, toolName, input }));
	}

	/** What a call's result gains. */
	async result(toolCallId: string, toolName: string): Promise<{ content?: unknown[]; details?: { diff?: string } }> {
		const content = [{ type: "text", text: "reply" }];
		const facts = { toolCallId, toolName, input: {}, content, details: {}, isError: false };
		return ((await this.emit("tool_result", facts)) as object | undefined) ?? {};
	}

	/** What guidance looks like that belongs to this session. */
	guided(): object[] {
		return [
			{ type: "text", text: "reply" },
			{ type: "text", text: `Guidance for ${this.id}.` },
		];
	}
}

/** Resolves once the hook was asked for each of these sessions and none was answered. */
async function allAsked(sessions: Session[]): Promise<void> {
	while (!sessions.every(({ id }) => existsSync(join(folder, `asked-${id}`)))) {
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

/** Lets the hook of a session that waits answer. */
const open = ({ id }: Session) => writeFileSync(join(folder, `open-${id}`), "");

/** The addons that this process has loaded. */
const addons = () => Object.keys(createRequire(import.meta.url).cache).filter((file) => file.endsWith(".node"));

test("three interleaved sessions do not mix, and the addon outlives them", { timeout: 60_000 }, async () => {
	const first = load();
	assert.ok("addon" in first, JSON.stringify(first));

	const a = Session.open("a", "nav");
	const b = Session.open("b", "core");
	const c = Session.open("c", "readonly");
	const all = [a, b, c];

	// Each registers with its own host, by the file of its own project.
	for (const session of all) session.emit("session_start", { reason: "startup" });
	assert.deepEqual(
		all.map(({ registered }) => registered.map(({ command, env }) => [command, env.GORTEX_TOOLS])),
		[[[program, "nav"]], [[program, "core"]], [[program, "readonly"]]],
	);

	// The turn of one is held while the others, whose tools are there, are briefed.
	a.connected = c.connected = true;
	const briefings = new Map<Session, string>();
	const turns = [c, a, b].map(async (session) => briefings.set(session, await session.brief()));
	await Promise.all(turns.slice(0, 2));
	assert.deepEqual([...briefings.keys()].map(({ id }) => id).sort(), [a.id, c.id]);
	b.connected = true;
	await Promise.all(turns);
	for (const session of all) {
		assert.deepEqual(briefings.get(session)?.match(/session-\w/g), [session.id]);
	}
	// Only the daemon of one is too old, and only its user and its model are told.
	assert.deepEqual([a, b, c].map(({ notified }) => notified.length), [0, 1, 0]);
	assert.deepEqual(all.map((session) => /older than/.test(briefings.get(session) ?? "")), [false, true, false]);

	// All have calls of the same id in flight; what is known of one by its id must not answer for another.
	for (const { cwd, id } of all) writeFileSync(join(cwd, "notes.txt"), `of ${id}\n`);
	const edit = { operation: "file", path: "notes.txt" };
	const edits = await Promise.all([b, c, a].map((session) => session.call("c1", "mcp__gortex__edit", edit)));
	assert.deepEqual(edits, [undefined, undefined, undefined]);
	const calls = new Map([b, c, a].map((session) => [session, session.call("c2", "read", { path: "held.rs" })]));
	await allAsked(all);

	// One ends while the hook decides for all: its call settles, and the others are still decided on.
	b.emit("session_shutdown", { reason: "quit" });
	assert.equal(await calls.get(b), undefined);
	const asked = b.asked;
	open(a);
	assert.equal(await calls.get(a), undefined);
	assert.deepEqual(await Promise.race([calls.get(c), "pending"]), "pending");
	open(c);
	assert.equal(await calls.get(c), undefined);

	// Guidance and diffs go to the session's own calls. What has ended gives nothing.
	for (const { cwd, id } of all) writeFileSync(join(cwd, "notes.txt"), `by ${id}\n`);
	const sessions = [c, b, a];
	const read = await Promise.all(sessions.map((session) => session.result("c2", "read")));
	assert.deepEqual(read, [{ content: c.guided() }, {}, { content: a.guided() }]);
	const edited = await Promise.all(sessions.map((session) => session.result("c1", "mcp__gortex__edit")));
	assert.deepEqual(
		edited.map(({ content, details }) => [content, details?.diff]),
		[
			[c.guided(), "-1 of session-c\n+1 by session-c"],
			[undefined, undefined],
			[a.guided(), "-1 of session-a\n+1 by session-a"],
		],
	);

	// Blocks too name the session that they block.
	const blocked = await Promise.all([c, a].map((session) => session.call("c3", "read", { path: "blocked.rs" })));
	assert.deepEqual(blocked, [
		{ block: true, reason: "Blocked for session-c." },
		{ block: true, reason: "Blocked for session-a." },
	]);
	for (const session of [c, a]) session.emit("session_shutdown", { reason: "quit" });
	assert.equal(b.asked, asked, "an instance that has ended asks for nothing");
	assert.deepEqual([a, b, c].map(({ notified }) => notified.length), [0, 1, 0]);

	// All have ended: one that comes later finds the same addon, and nothing of theirs.
	const anew = "../index.ts?anew"; // Pi reads the sources again for a new session, a loaded addon stays.
	const d = Session.open("d", "agent", (await import(anew)).default);
	const again = load();
	assert.ok("addon" in again && again.addon === first.addon);
	assert.equal(addons().length, 1);
	d.connected = true;
	d.emit("session_start", { reason: "startup" });
	assert.deepEqual((await d.brief()).match(/session-\w/g), [d.id]);
	assert.deepEqual(await d.result("c1", "mcp__gortex__edit"), {});
	assert.equal(await d.call("c2", "read", { path: "free.rs" }), undefined);
	assert.deepEqual(await d.result("c2", "read"), { content: d.guided() });
	d.emit("session_shutdown", { reason: "quit" });
});

test("a run's signal ends all calls that wait under it, and none of the next run (H4)", { timeout: 60_000 }, async () => {
	const e = Session.open("e", "nav");
	e.connected = true;
	e.emit("session_start", { reason: "startup" });
	await e.brief();

	const run = new AbortController();
	e.signal = run.signal;
	const waiting = ["c1", "c2"].map((id) => e.call(id, "read", { path: "held.rs" }));
	await allAsked([e]);
	assert.equal(getEventListeners(run.signal, "abort").length, 1);
	run.abort();
	assert.deepEqual(await Promise.all(waiting), [undefined, undefined]);
	// Under a signal that has fired the hook is not heard.
	assert.equal(await e.call("c3", "read", { path: "blocked.rs" }), undefined);

	e.signal = new AbortController().signal;
	const reason = "Blocked for session-e.";
	assert.deepEqual(await e.call("c4", "read", { path: "blocked.rs" }), { block: true, reason });
	e.emit("session_shutdown", { reason: "quit" });
});
