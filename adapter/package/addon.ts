/** How the file of the native addon is found and loaded; native.d.ts has its shape. */
import { createRequire } from "node:module";
import { message } from "./facts.ts";

/** Raised in step with `ABI` in adapter/node/src/lib.rs. */
const ABI = 2;

/** What the file exports. */
export type Addon = typeof import("./native.d.ts");

/** Why there is no addon: the file that was wanted, and what went wrong. */
export interface Missing {
	file: string;
	cause: string;
}

/**
 * Loads the addon: a file beside this one, as a checkout has it, else the optional package of this platform, as npm
 * installs it.
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
		const triple = `${platform}-${arch}${suffix}`;
		const file = `gortex-pi.${triple}.node`;
		for (const place of [`./${file}`, `@gortex-pi/addon-${triple}`]) {
			try {
				const addon = require(place) as Addon;
				if (addon?.ABI === ABI) return { addon };
				const cause = `it has interface ${String(addon?.ABI)}, this extension needs ${ABI}: another version of it is loaded in this process`;
				return { missing: { file, cause } };
			} catch (error) {
				const absent = (error as { code?: unknown } | null)?.code === "MODULE_NOT_FOUND";
				// A file that is there and does not load says more than one that is not there.
				if (!missing || !absent) missing = { file, cause: absent ? "the file is not there" : message(error) };
			}
		}
	}
	return { missing: missing ?? { file: "its native part", cause: "unknown" } };
}
