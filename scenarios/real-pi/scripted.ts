// An extension beside ours that does what a case says: registers servers and commands in its factory, and waits, changes,
// registers, sends, throws or returns on events. The simulated host has the same in Rust.
import { setTimeout as sleep } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

interface Deeds {
	registers: Record<string, unknown>;
	sends: { custom_type: string; content: string; trigger_turn: boolean }[];
}

interface Handler {
	event: string;
	when: Record<string, unknown>;
	delay_ms: number;
	sets: Record<string, unknown>;
	does: Deeds;
	throws?: string | null;
	returns?: unknown;
}

interface Script {
	registers: Record<string, unknown>;
	commands: { name: string; does: Deeds }[];
	on: Handler[];
}

/** Makes the extension that a case scripts. */
export function scripted(script: Script) {
	return (pi: ExtensionAPI) => {
		register(pi, script.registers);
		for (const { name, does } of script.commands) {
			pi.registerCommand(name, { handler: async () => perform(pi, does) });
		}
		for (const handler of script.on) {
			// biome-ignore lint: the event's name is data, so its type is not known here.
			(pi.on as any)(handler.event, async (event: Record<string, unknown>) => {
				if (!Object.entries(handler.when).every(([name, value]) => event[name] === value)) return undefined;
				if (handler.delay_ms > 0) await sleep(handler.delay_ms);
				for (const [path, value] of Object.entries(handler.sets)) set(event, path.split("."), value);
				perform(pi, handler.does);
				if (handler.throws != null) throw new Error(handler.throws);
				return handler.returns ?? undefined;
			});
		}
	};
}

function register(pi: ExtensionAPI, servers: Record<string, unknown>) {
	for (const [name, config] of Object.entries(servers)) pi.registerMcpServer(name, config as never);
}

function perform(pi: ExtensionAPI, deeds: Deeds) {
	register(pi, deeds.registers);
	for (const { custom_type, content, trigger_turn } of deeds.sends) {
		pi.sendMessage({ customType: custom_type, content, display: false }, trigger_turn ? { triggerTurn: true } : undefined);
	}
}

/** Puts a value in place: the way to it must exist. */
function set(object: Record<string, unknown>, path: string[], value: unknown) {
	const inner = path.slice(0, -1).reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], object);
	const last = path.at(-1);
	if (last !== undefined && typeof inner === "object" && inner !== null) (inner as Record<string, unknown>)[last] = value;
}
