// An extension beside ours that does what a case says: registers servers, tools and commands in its factory, and waits,
// changes, registers, appends, sends, throws or returns on events. The simulated host has the same in Rust.
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

type DeliverAs = "steer" | "follow_up" | "next_turn";

interface Deeds {
	registers: Record<string, unknown>;
	appends: { custom_type: string; data?: unknown }[];
	sends: { custom_type: string; content: string; display: boolean; deliver_as?: DeliverAs | null; trigger_turn?: boolean | null }[];
	says: { text: string; deliver_as?: DeliverAs | null }[];
	aborts: boolean;
	uses_old?: "pi" | "ctx" | null;
	asks: Question[];
	shuts_down: boolean;
}

interface Question {
	kind: "confirm" | "select" | "input";
	title: string;
	text?: string | null;
	options: string[];
	timeout_ms?: number | null;
}

interface Handler {
	event: string;
	when: Record<string, unknown>;
	times?: number | null;
	delay_ms: number;
	hangs: boolean;
	sets: Record<string, unknown>;
	does: Deeds;
	counts_hooks?: number | null;
	throws?: string | null;
	returns?: unknown;
}

interface Tool {
	name: string;
	parameters?: Record<string, unknown> | null;
	sequential: boolean;
	updates: string[];
	delay_ms: number;
	on_abort?: string | null;
	throws?: string | null;
	text: string;
	images: { data: string; mime_type: string }[];
	details?: unknown;
	is_error: boolean;
	terminate: boolean;
}

interface Script {
	name: string;
	delay_ms: number;
	fails?: string | null;
	registers: Record<string, unknown>;
	tools: Tool[];
	commands: { name: string; does: Deeds }[];
	on: Handler[];
}

const DELIVERY = { steer: "steer", follow_up: "followUp", next_turn: "nextTurn" } as const;
/** What an instance holds. */
interface Handles {
	pi: ExtensionAPI;
	ctx?: ExtensionContext;
}

// A reload imports this file afresh, so what outlives an instance has to lie elsewhere.
const instances = ((globalThis as Record<string, unknown>).benchInstances ??= new Map()) as Map<string, Handles[]>;

/** Makes the extension that a case scripts. `out` is the file to which it appends what it records. */
export function scripted(script: Script, out: string) {
	return async (pi: ExtensionAPI) => {
		const mine: Handles = { pi };
		const all = instances.get(script.name) ?? [];
		instances.set(script.name, [...all, mine]);
		const act = (ctx: ExtensionContext, deeds: Deeds) => perform(pi, ctx, all.at(-1), deeds);
		if (script.delay_ms > 0) await sleep(script.delay_ms);
		register(pi, script.registers);
		// biome-ignore lint: the tool is data, so its types are not known here.
		for (const tool of script.tools) pi.registerTool(made(tool) as any);
		for (const { name, does } of script.commands) {
			pi.registerCommand(name, { handler: (_args, ctx) => act(ctx, does) });
		}
		for (const handler of script.on) {
			let done = 0;
			// biome-ignore lint: the event's name is data, so its type is not known here.
			(pi.on as any)(handler.event, async (event: Record<string, unknown>, ctx: ExtensionContext) => {
				mine.ctx = ctx;
				if (!Object.entries(handler.when).every(([name, value]) => event[name] === value)) return undefined;
				if (handler.times != null && done++ >= handler.times) return undefined;
				if (handler.delay_ms > 0) await sleep(handler.delay_ms);
				if (handler.hangs) await new Promise(() => {});
				for (const [path, value] of Object.entries(handler.sets)) set(event, path.split("."), value);
				await act(ctx, handler.does);
				if (handler.counts_hooks != null) await count(handler.counts_hooks, out);
				if (handler.throws != null) throw new Error(handler.throws);
				return filled(handler.returns ?? undefined, event);
			});
		}
		if (script.fails != null) throw new Error(script.fails);
	};
}

function made(tool: Tool) {
	return {
		name: tool.name,
		label: tool.name,
		description: "A tool of the case.",
		parameters: tool.parameters ?? { type: "object", properties: {} },
		...(tool.sequential ? { executionMode: "sequential" } : {}),
		async execute(_id: string, _input: unknown, signal: AbortSignal | undefined, update?: (partial: unknown) => void) {
			for (const text of tool.updates) update?.({ content: [{ type: "text", text }] });
			try {
				await sleep(tool.delay_ms, undefined, { signal: tool.on_abort != null ? signal : undefined });
			} catch {
				throw new Error(tool.on_abort ?? "");
			}
			if (tool.throws != null) throw new Error(tool.throws);
			const images = tool.images.map(({ data, mime_type }) => ({ type: "image", data, mimeType: mime_type }));
			return {
				content: [{ type: "text", text: tool.text }, ...images],
				...(tool.details != null ? { details: tool.details } : {}),
				...(tool.is_error ? { isError: true } : {}),
				...(tool.terminate ? { terminate: true } : {}),
			};
		},
	};
}

function register(pi: ExtensionAPI, servers: Record<string, unknown>) {
	for (const [name, config] of Object.entries(servers)) pi.registerMcpServer(name, config as never);
}

async function perform(pi: ExtensionAPI, ctx: ExtensionContext, old: Handles | undefined, deeds: Deeds) {
	register(pi, deeds.registers);
	for (const { custom_type, data } of deeds.appends) pi.appendEntry(custom_type, data ?? undefined);
	for (const { custom_type, content, display, deliver_as, trigger_turn } of deeds.sends) {
		pi.sendMessage(
			{ customType: custom_type, content, display },
			{
				...(deliver_as != null ? { deliverAs: DELIVERY[deliver_as] } : {}),
				...(trigger_turn != null ? { triggerTurn: trigger_turn } : {}),
			},
		);
	}
	for (const { text, deliver_as } of deeds.says) {
		pi.sendUserMessage(text, deliver_as != null && deliver_as !== "next_turn" ? { deliverAs: DELIVERY[deliver_as] as never } : undefined);
	}
	if (deeds.aborts) ctx.abort();
	for (const question of deeds.asks) {
		const answer = await ask(ctx, question);
		ctx.ui.notify(`${question.title} ${answer ?? "nothing"}`);
	}
	if (deeds.shuts_down) ctx.shutdown();
	if (deeds.uses_old === "pi") old?.pi.getAllTools();
	if (deeds.uses_old === "ctx") void old?.ctx?.cwd;
}

/** What a handler returns, with the event's own values where the case names them. */
function filled(value: unknown, event: Record<string, unknown>): unknown {
	if (typeof value === "string") {
		const path = /^<event (.*)>$/.exec(value)?.[1];
		if (path === undefined) return value;
		return path.split(".").reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], event);
	}
	if (Array.isArray(value)) return value.map((item) => filled(item, event));
	if (typeof value === "object" && value !== null) {
		return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, filled(item, event)]));
	}
	return value;
}

function ask(ctx: ExtensionContext, { kind, title, text, options, timeout_ms }: Question) {
	const limits = timeout_ms == null ? undefined : { timeout: timeout_ms };
	if (kind === "confirm") return ctx.ui.confirm(title, text ?? "", limits);
	if (kind === "select") return ctx.ui.select(title, options, limits);
	return ctx.ui.input(title, text ?? undefined, limits);
}

/** Puts a value in place: the way to it must exist. */
function set(object: Record<string, unknown>, path: string[], value: unknown) {
	const inner = path.slice(0, -1).reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], object);
	const last = path.at(-1);
	if (last !== undefined && typeof inner === "object" && inner !== null) (inner as Record<string, unknown>)[last] = value;
}

/** Records how many hook children of this process there are, once that many are or a second has passed. */
async function count(wanted: number, out: string) {
	const until = performance.now() + 1000;
	let found = hooks();
	for (; found !== wanted && performance.now() < until; found = hooks()) await sleep(2);
	appendFileSync(out, `${JSON.stringify({ lane: "extension", event: "hooks", payload: { count: found } })}\n`);
}

/** How many children of this process are hooks that have not ended. */
function hooks(): number {
	const isHook = (id: string) => {
		try {
			// The state and the parent stand behind the name, which may hold anything.
			const stat = readFileSync(`/proc/${id}/stat`, "latin1");
			const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
			const ours = parent === String(process.pid) && state !== "Z" && state !== "X";
			return ours && readFileSync(`/proc/${id}/cmdline`, "latin1").split("\0")[1] === "hook";
		} catch {
			// It has ended meanwhile.
			return false;
		}
	};
	return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isHook(name)).length;
}
