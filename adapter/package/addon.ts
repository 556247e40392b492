/** The native addon: its shape, and how its file is found and loaded. Written by hand after adapter/node/src. */
import { createRequire } from "node:module";
import { message } from "./facts.ts";

/** Raised in step with `ABI` in adapter/node/src/lib.rs. */
const ABI = 1;

/** Cancels what one handler waits for. */
export interface Abort {
	cancel(): void;
}

/** One instance. Every text is JSON; promises never reject; methods throw only where facts cannot be read. */
export interface Adapter {
	sessionStart(facts: string, register: (name: string, config: string) => string | null): void;
	beforeAgentStart(facts: string, abort: Abort | null): Promise<string | null>;
	toolCall(facts: string, abort: Abort | null): Promise<string | null>;
	toolResult(facts: string, abort: Abort | null): Promise<string | null>;
	turnEnd(): void;
	agentSettled(): void;
	sessionShutdown(): void;
}

/** How loud a notification is, in Pi's words. */
export type Level = "info" | "warning" | "error";

/** What the file exports. */
export interface Addon {
	ABI: number;
	AbortHandle: new () => Abort;
	Adapter: new (
		environment: string,
		tools: () => string | null,
		customMessages: (customType: string) => string | null,
		notify: (text: string, level: Level) => void,
	) => Adapter;
}

/** Why there is no addon: the file that was wanted, and what went wrong. */
export interface Missing {
	file: string;
	cause: string;
}

/**
 * Loads the addon beside this file.
 *
 * On Linux the C library is not asked for (that takes a process report, which is slow); a file that was built for the
 * other one fails to load, and the next candidate is tried.
 */
export function load(
	require: (file: string) => unknown = createRequire(import.meta.url),
	platform: string = process.platform,
	arch: string = process.arch,
): { addon: Addon } | { missing: Missing } {
	const suffixes = platform === "linux" ? ["-gnu", "-musl"] : [""];
	let missing: Missing | undefined;
	for (const suffix of suffixes) {
		const file = `gortex-pi.${platform}-${arch}${suffix}.node`;
		try {
			const addon = require(`./${file}`) as Addon;
			if (addon?.ABI === ABI) return { addon };
			const cause = `it has interface ${String(addon?.ABI)}, this extension needs ${ABI}: another version of it is loaded in this process`;
			return { missing: { file, cause } };
		} catch (error) {
			const absent = (error as { code?: unknown } | null)?.code === "MODULE_NOT_FOUND";
			// A file that is there and does not load says more than one that is not there.
			if (!missing || !absent) missing = { file, cause: absent ? "the file is not there" : message(error) };
			if (!absent) continue;
		}
	}
	return { missing: missing ?? { file: "its native part", cause: "unknown" } };
}
