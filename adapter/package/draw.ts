/** How Pi's terminal draws results of graph tools: the diffs that the core wrote, above the reply (E7). */
import { renderDiff, type ToolRenderers } from "@earendil-works/pi-coding-agent";
import { type Component, Container, Spacer, Text } from "@earendil-works/pi-tui";

const GRAPH_TOOLS = "mcp__gortex__";

/** One entry of `details.diffs`: a file, and its diff or the note that stands in its place (E1, E4). */
interface Drawn {
	path: string;
	diff?: string;
	note?: string;
}

/** A resolver for `pi.registerToolRenderer`: what stands there, with our diffs above it where there are some. */
export function drawsDiffs(toolName: string, next: () => ToolRenderers | undefined): ToolRenderers | undefined {
	const base = next();
	const reply = base?.renderResult;
	if (!reply || !toolName.startsWith(GRAPH_TOOLS)) return base;
	return {
		...base,
		renderResult(result, options, theme, context) {
			const entries = drawn(result.details);
			// The component of the last time is of the other kind where a result had no diff yet.
			const inner = { ...context, lastComponent: undefined };
			if (context.isError || entries.length === 0) return reply(result, options, theme, inner);
			const shown = new Container();
			for (const { path, diff, note } of entries) {
				shown.addChild(new Spacer(1));
				// Pi's header of the call names the file already; only of several each needs its name.
				if (entries.length > 1) shown.addChild(new Text(theme.fg("accent", path), 0, 0));
				if (diff !== undefined) shown.addChild(new Text(renderDiff(diff, { filePath: path }), 0, 0));
				else if (note !== undefined) shown.addChild(new Text(theme.fg("muted", note), 0, 0));
			}
			if (options.expanded) shown.addChild(reply(result, options, theme, inner) as Component);
			return shown;
		},
	};
}

/** The entries of a result's details, tame: a file may hold what would steer the terminal. */
export function drawn(details: unknown): Drawn[] {
	const diffs = (details as { diffs?: unknown } | null | undefined)?.diffs;
	if (!Array.isArray(diffs)) return [];
	return diffs.flatMap((entry: { path?: unknown; diff?: unknown; note?: unknown } | null) => {
		const path = tame(entry?.path)?.replace(/[\n\t]/g, " ");
		const [diff, note] = [tame(entry?.diff), tame(entry?.note)];
		return path === undefined || (diff ?? note) === undefined ? [] : [{ path, diff, note }];
	});
}

function tame(text: unknown): string | undefined {
	return typeof text === "string" ? text.replace(/[^\P{Cc}\n\t]/gu, "\ufffd") : undefined;
}
