/**
 * The Gortex extension for Pi: reads facts from Pi, hands them to the native core, returns what the core says.
 *
 * Nothing is decided here, with one exception: what to say where there is no core (missing.ts). And nothing in here
 * throws or rejects (F1): what Pi makes of an exception ranges from a report to a blocked call (pi-host.md 2), and in a
 * process with many sessions an unheard rejection ends them all (portal.md D2).
 */
import { homedir } from "node:os";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { type Addon, load } from "./addon.ts";
import { drawsDiffs } from "./draw.ts";
import { applied, branchMessages, commandResults, commands, encode, message, send, tools } from "./facts.ts";
import { tellMissing } from "./missing.ts";
import type { AbortHandle, Adapter, Level } from "./native.d.ts";

export default function gortex(pi: ExtensionAPI): void {
	const loaded = load();
	if ("missing" in loaded) {
		tellMissing(pi, loaded.missing);
		return;
	}
	const live: Live = { pi };
	let adapter: Adapter;
	try {
		const environment = encode({ vars: { ...process.env }, home: homedir(), cwd: quiet(() => process.cwd()) });
		adapter = new loaded.addon.Adapter(environment, ...callbacks(new WeakRef(live)));
	} catch (error) {
		tellMissing(pi, { file: "its native part", cause: message(error) });
		return;
	}

	// Diffs of a resumed session are drawn also where nothing else of it can be had.
	quiet(() => pi.registerToolRenderer(drawsDiffs));

	pi.on("session_start", (event, ctx) => {
		live.ctx = ctx;
		quiet(() => {
			const facts = {
				cwd: ctx.cwd,
				sessionId: ctx.sessionManager.getSessionId(),
				reason: event.reason,
				hasUi: ctx.hasUI,
				commands: commands(pi),
			};
			send(facts, (text) =>
				adapter.sessionStart(text, (name, config) => {
					try {
						pi.registerMcpServer(name, JSON.parse(config));
						return null;
					} catch (error) {
						return message(error);
					}
				}),
			);
		});
	});

	pi.on("before_agent_start", (_event, ctx) => {
		live.ctx = ctx;
		return answer(async () => {
			const abort = abortOf(loaded.addon, ctx.signal);
			const facts = {
				sessionId: ctx.sessionManager.getSessionId(),
				cwd: ctx.cwd,
				results: quiet(() => commandResults(ctx)),
			};
			const stored = await send(facts, (text) => adapter.beforeAgentStart(text, abort));
			return stored === null ? undefined : { message: JSON.parse(stored) };
		});
	});

	pi.on("tool_call", (event, ctx) =>
		answer(async () => {
			const abort = abortOf(loaded.addon, ctx.signal);
			const facts = {
				id: event.toolCallId,
				name: event.toolName,
				input: event.input,
				parentId: event.parentToolCallId,
				cwd: ctx.cwd,
				sessionId: ctx.sessionManager.getSessionId(),
			};
			const reason = await send(facts, (text) => adapter.toolCall(text, abort));
			return reason === null ? undefined : { block: true, reason };
		}),
	);

	pi.on("tool_result", (event, ctx) =>
		answer(async () => {
			const abort = abortOf(loaded.addon, ctx.signal);
			const facts = {
				id: event.toolCallId,
				content: Array.isArray(event.content) ? event.content : undefined,
				details: event.details,
				structuredContent: event.structuredContent,
				isError: event.isError === true,
			};
			const difference = await send(facts, (text) => adapter.toolResult(text, abort));
			return difference === null ? undefined : applied(facts, JSON.parse(difference));
		}),
	);

	// Pi takes anything but undefined for an answer of its own to the command, and an error for a reason to stop it.
	pi.on("user_bash", (_event, ctx) => {
		quiet(() => send({ cwd: ctx.cwd, results: quiet(() => commandResults(ctx)) }, (text) => adapter.userBash(text)));
	});

	pi.on("turn_end", () => quiet(() => adapter.turnEnd()));
	pi.on("agent_settled", () => quiet(() => adapter.agentSettled()));
	pi.on("session_shutdown", () => {
		quiet(() => adapter.sessionShutdown());
		live.ctx = undefined;
	});
}

/** What the core asks about. */
interface Live {
	pi: ExtensionAPI;
	ctx?: ExtensionContext;
}

/**
 * The questions that the core asks, and its way to tell a person something. `null` once the session was replaced (R10).
 *
 * Built apart from the handlers and on a weak reference: the addon holds these functions, and whatever they hold would
 * outlive a session that ends without `session_shutdown`, as those of an embedder do (pi-host.md 5).
 */
function callbacks(
	live: WeakRef<Live>,
): [() => string | null, (customType: string) => string | null, (text: string, level: Level) => void] {
	return [
		() => quiet(() => encode(tools(live.deref()?.pi))) ?? null,
		(customType) => quiet(() => encode(branchMessages(live.deref()?.ctx, customType))) ?? null,
		(text, level) => quiet(() => live.deref()?.ctx?.ui.notify(text, level)),
	];
}

/** Runs work that may throw; undefined where it did. */
function quiet<T>(work: () => T): T | undefined {
	try {
		return work();
	} catch {
		return undefined;
	}
}

/** Awaits work that may throw or reject; undefined where it did. */
async function answer<T>(work: () => Promise<T>): Promise<T | undefined> {
	try {
		return await work();
	} catch {
		return undefined;
	}
}

/** The handles that signals cancel. A run has one signal and many calls. */
const aborts = new WeakMap<AbortSignal, AbortHandle>();

/** The handle that the signal cancels (H4). */
function abortOf(addon: Addon, signal: AbortSignal | undefined): AbortHandle | null {
	if (!signal) return null;
	const known = aborts.get(signal);
	if (known) return known;
	const abort = new addon.AbortHandle();
	const cancel = () => quiet(() => abort.cancel());
	if (signal.aborted) cancel();
	else signal.addEventListener("abort", cancel, { once: true });
	aborts.set(signal, abort);
	return abort;
}
