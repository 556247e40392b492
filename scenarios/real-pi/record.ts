// A recording extension for the real Pi. `recorded.json` says which events and members are kept; the simulated host has
// a recorder that reads the same file.
import { appendFileSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

interface Recorded {
	first: Record<string, string[]>;
	last: Record<string, string[]>;
	context: string[];
	unprinted: string[];
	writers: string[];
}

const recorded: Recorded = JSON.parse(readFileSync(new URL("./recorded.json", import.meta.url), "utf8"));
const LARGEST_FILE = 64 * 1024;
const MOST_FILES = 64;

/** The project's texts by relative path: the same choice as the runner's own `CaseFolder::texts`. */
function texts(project: string): Record<string, string> {
	const found: [string, string][] = [];
	const collect = (folder: string) => {
		for (const entry of readdirSync(folder, { withFileTypes: true })) {
			const path = join(folder, entry.name);
			const name = relative(project, path);
			if (entry.isDirectory()) {
				if (name !== ".pi") collect(path);
			} else if (entry.isFile() && statSync(path).size <= LARGEST_FILE) {
				try {
					found.push([name, new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path))]);
				} catch {
					// Not UTF-8, or gone meanwhile: no text.
				}
			}
		}
	};
	collect(project);
	found.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
	return Object.fromEntries(found.slice(0, MOST_FILES));
}

/**
 * Makes a recorder. `by` says where it stands, `out` is the file to which it appends one JSON line an event. With `silent`
 * Pi prints no events, and the last recorder keeps those in its place.
 */
export function record(by: "first" | "last", out: string, silent: boolean) {
	const keep = (lane: string, event: string, payload: object) =>
		appendFileSync(out, `${JSON.stringify({ lane, event, payload })}\n`);
	return (pi: ExtensionAPI) => {
		for (const [name, members] of Object.entries(recorded[by])) {
			// biome-ignore lint: the list of events is data, so their types are not known here.
			(pi.on as any)(name, (event: Record<string, unknown>, ctx: Record<string, unknown> & { cwd: string }) => {
				const payload: Record<string, unknown> = { by };
				for (const member of members) payload[member] = event[member];
				if (by === "last" && name === "session_start") for (const member of recorded.context) payload[member] = ctx[member];
				keep("extension", name, payload);
				const tool = String(event.toolName ?? "").replace(/^mcp__gortex__/, "");
				if (recorded.writers.includes(tool)) {
					const moment = by === "first" && name === "tool_call" ? "before" : by === "last" && name === "tool_result" ? "after" : undefined;
					if (moment) keep("disk", moment, { toolCallId: event.toolCallId, files: texts(ctx.cwd) });
				}
			});
		}
		if (by === "last") {
			let seen = false;
			// At an instance's first turn: which servers are registered, and with what.
			pi.on("before_agent_start", (_event, ctx: ExtensionContext) => {
				const context = Object.fromEntries(recorded.context.map((member) => [member, ctx[member as keyof ExtensionContext]]));
				if (!seen) keep("extension", "servers", { servers: pi.getMcpServers(), ...context });
				seen = true;
			});
			// What our instance told in a turn: the history of a session does not say which instance told it.
			pi.on("message_end", ({ message }) => {
				const { customType, content } = message as { customType?: string; content?: unknown };
				if (customType === "gortex") keep("extension", "told", { content });
			});
			for (const name of silent ? recorded.unprinted : []) {
				// biome-ignore lint: as above.
				(pi.on as any)(name, ({ type: _type, ...event }: Record<string, unknown>) => keep("host", name, event));
			}
			// The command by which a person's step reloads, since RPC has none.
			pi.registerCommand("bench-reload", { handler: async (_args, ctx) => ctx.reload() });
			// The command by which a person's step goes to another entry of the session's tree.
			pi.registerCommand("bench-navigate", {
				handler: async (args, ctx) => {
					const { entry, ...options } = JSON.parse(args) as { entry: string; summarize: boolean; label?: string };
					const { cancelled } = await ctx.navigateTree(entry, options);
					keep("extension", "navigated", { cancelled });
				},
			});
		}
	};
}
