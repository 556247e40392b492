// An extension beside ours that does what a case says: registers servers and commands in its factory, and waits, changes,
// registers, sends, throws or returns on events. The simulated host has the same in Rust.
import { setTimeout as sleep } from "node:timers/promises";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

interface Deeds {
	registers: Record<string, unknown>;
	sends: { custom_type: string; content: string; trigger_turn: boolean }[];
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
	delay_ms: number;
	hangs: boolean;
	sets: Record<string, unknown>;
	does: Deeds;
	throws?: string | null;
	returns?: unknown;
}

interface Script {
	name: string;
	delay_ms: number;
	fails?: string | null;
	registers: Record<string, unknown>;
	commands: { name: string; does: Deeds }[];
	on: Handler[];
}

/** What an instance holds. */
interface Handles {
	pi: ExtensionAPI;
	ctx?: ExtensionContext;
}

// A reload imports this file afresh, so what outlives an instance has to lie elsewhere.
const instances = ((globalThis as Record<string, unknown>).benchInstances ??= new Map()) as Map<string, Handles[]>;

/** Makes the extension that a case scripts. */
export function scripted(script: Script) {
	return async (pi: ExtensionAPI) => {
		const mine: Handles = { pi };
		const all = instances.get(script.name) ?? [];
		instances.set(script.name, [...all, mine]);
		const act = (ctx: ExtensionContext, deeds: Deeds) => perform(pi, ctx, all.at(-1), deeds);
		if (script.delay_ms > 0) await sleep(script.delay_ms);
		register(pi, script.registers);
		for (const { name, does } of script.commands) {
			pi.registerCommand(name, { handler: (_args, ctx) => act(ctx, does) });
		}
		for (const handler of script.on) {
			// biome-ignore lint: the event's name is data, so its type is not known here.
			(pi.on as any)(handler.event, async (event: Record<string, unknown>, ctx: ExtensionContext) => {
				mine.ctx = ctx;
				if (!Object.entries(handler.when).every(([name, value]) => event[name] === value)) return undefined;
				if (handler.delay_ms > 0) await sleep(handler.delay_ms);
				if (handler.hangs) await new Promise(() => {});
				for (const [path, value] of Object.entries(handler.sets)) set(event, path.split("."), value);
				await act(ctx, handler.does);
				if (handler.throws != null) throw new Error(handler.throws);
				return handler.returns ?? undefined;
			});
		}
		if (script.fails != null) throw new Error(script.fails);
	};
}

function register(pi: ExtensionAPI, servers: Record<string, unknown>) {
	for (const [name, config] of Object.entries(servers)) pi.registerMcpServer(name, config as never);
}

async function perform(pi: ExtensionAPI, ctx: ExtensionContext, old: Handles | undefined, deeds: Deeds) {
	register(pi, deeds.registers);
	for (const { custom_type, content, trigger_turn } of deeds.sends) {
		pi.sendMessage({ customType: custom_type, content, display: false }, trigger_turn ? { triggerTurn: true } : undefined);
	}
	for (const question of deeds.asks) {
		const answer = await ask(ctx, question);
		ctx.ui.notify(`${question.title} ${answer ?? "nothing"}`);
	}
	if (deeds.shuts_down) ctx.shutdown();
	if (deeds.uses_old === "pi") old?.pi.getAllTools();
	if (deeds.uses_old === "ctx") void old?.ctx?.cwd;
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
