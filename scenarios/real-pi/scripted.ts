// An extension beside ours that does what a case says: registers servers in its factory, and waits, throws or returns
// on events. The simulated host has the same in Rust.
import { setTimeout as sleep } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

interface Script {
	registers: Record<string, unknown>;
	on: { event: string; delay_ms: number; throws?: string | null; returns?: unknown }[];
}

/** Makes the extension that a case scripts. */
export function scripted(script: Script) {
	return (pi: ExtensionAPI) => {
		for (const [name, config] of Object.entries(script.registers)) pi.registerMcpServer(name, config as never);
		for (const handler of script.on) {
			// biome-ignore lint: the event's name is data, so its type is not known here.
			(pi.on as any)(handler.event, async () => {
				if (handler.delay_ms > 0) await sleep(handler.delay_ms);
				if (handler.throws != null) throw new Error(handler.throws);
				return handler.returns ?? undefined;
			});
		}
	};
}
