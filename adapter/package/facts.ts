/** Facts of Pi as JSON text, and answers as what Pi takes. */
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

/** How deep a value is followed, and how many members of it in all, where it has to be simplified. */
const MAX_DEPTH = 64;
const MAX_NODES = 100_000;
/** Long enough for a refusal of Pi, which names the path of the extension first (R4). */
const MAX_MESSAGE = 1000;

/** JSON text of a value, of a simplified copy where it cannot be said as it is. */
export function encode(value: unknown): string {
	return send(value, (text) => text);
}

/**
 * Hands JSON text of facts on. Where they cannot be said, or the taker cannot read them (it refuses deep nesting), a
 * simplified copy is handed on instead, so that a cycle or a big integer in a tool's input loses that member and not
 * the call (O11).
 */
export function send<T>(facts: unknown, take: (text: string) => T): T {
	try {
		return take(JSON.stringify(facts));
	} catch {
		return take(JSON.stringify(simplified(facts)));
	}
}

/** A copy of plain data: without cycles, functions and members that throw; big integers as text. */
export function simplified(value: unknown): unknown {
	const path = new Set<object>();
	let left = MAX_NODES;
	const copy = (value: unknown): unknown => {
		if (typeof value === "bigint") return String(value);
		if (typeof value === "function" || typeof value === "symbol") return undefined;
		if (typeof value !== "object" || value === null) return value;
		if (path.has(value) || path.size >= MAX_DEPTH) return null;
		const names = Object.keys(value);
		path.add(value);
		// Without a prototype, a member named __proto__ is a member like any other.
		const members = (Array.isArray(value) ? [] : Object.create(null)) as Record<string, unknown>;
		for (const name of names) {
			if (left === 0) break;
			left -= 1;
			try {
				members[name] = copy((value as Record<string, unknown>)[name]);
			} catch {
				// A getter that throws: this member cannot be had.
			}
		}
		path.delete(value);
		return members;
	};
	return copy(value);
}

/** One bounded line of what was thrown, whatever was thrown. */
export function message(error: unknown): string {
	try {
		const text = error instanceof Error ? error.message : String(error);
		return text.replace(/\p{Cc}+/gu, " ").slice(0, MAX_MESSAGE).trim().toWellFormed();
	} catch {
		return "unknown error";
	}
}

/** Every tool that Pi knows (R5). */
export function tools(pi: ExtensionAPI | undefined): { name: string; exposure?: string }[] | null {
	if (!pi) return null;
	return pi.getAllTools().map(({ name, exposure }) => ({ name, exposure }));
}

/** Every command, with the file that it comes from (R3, R4). */
export function commands(pi: ExtensionAPI): { name: string; sourcePath: string }[] {
	return pi.getCommands().map(({ name, sourceInfo }) => ({ name, sourcePath: sourceInfo?.path ?? "" }));
}

/** The contents of the custom messages of one type on the session's branch, oldest first (B3). */
export function branchMessages(ctx: ExtensionContext | undefined, customType: string): unknown[] | null {
	if (!ctx) return null;
	return ctx.sessionManager
		.getBranch()
		.flatMap((entry) => (entry.type === "custom_message" && entry.customType === customType ? [entry.content] : []));
}

/** How many results of the person's own commands the session holds, on all its branches (E4). */
export function commandResults(ctx: ExtensionContext): number {
	let results = 0;
	for (const entry of ctx.sessionManager.getEntries()) {
		if (entry.type === "message" && entry.message.role === "bashExecution") results += 1;
	}
	return results;
}

/** The parts of a result that a patch can restate. */
interface Result {
	content?: unknown[];
	details?: unknown;
	structuredContent?: unknown;
}

type Part = { merge: object } | { set: unknown };

/** What the core says of a result: its difference from what Pi holds (adapter/node/src/patch.rs). */
export interface Difference {
	content?: { keep: number; then: unknown[] };
	details?: Part;
	structuredContent?: Part;
	isError?: boolean;
}

/** The patch that Pi takes, with Pi's own values wherever the core left them as they were. */
// biome-ignore lint/suspicious/noExplicitAny: Pi's content and details are the tools' own.
export function applied(result: Result, difference: Difference): any {
	const patch: Record<string, unknown> = {};
	const { content, details, structuredContent, isError } = difference;
	if (content) patch.content = [...(result.content ?? []).slice(0, content.keep), ...content.then];
	if (details) patch.details = part(result.details, details);
	if (structuredContent) patch.structuredContent = part(result.structuredContent, structuredContent);
	if (isError !== undefined) patch.isError = isError;
	return patch;
}

function part(old: unknown, part: Part): unknown {
	if ("set" in part) return part.set;
	return Object.keys(part.merge).length === 0 ? old : { ...(old as object), ...part.merge };
}
