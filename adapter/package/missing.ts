/** What the first turn says where there is no native core (F2). The one text of the package that lives here. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Missing } from "./addon.ts";
import { branchMessages } from "./facts.ts";

const CUSTOM_TYPE = "gortex";

/** Stores one hidden message with the first turn; none where the session's history holds it already (B3). */
export function tellMissing(pi: ExtensionAPI, missing: Missing): void {
	let told = false;
	pi.on("before_agent_start", (_event, ctx) => {
		if (told) return;
		told = true;
		const content = missingText(missing);
		try {
			if (branchMessages(ctx, CUSTOM_TYPE)?.includes(content)) return;
		} catch {
			// A branch that cannot be read is taken for one that does not hold it.
		}
		return { message: { customType: CUSTOM_TYPE, content, display: false } };
	});
}

/** The text: what is missing, on which platform, why, and the remedy. */
export function missingText({ file, cause }: Missing): string {
	return [
		`The Gortex extension is loaded without ${file}, so this session has no Gortex graph tools, briefing or read discipline.`,
		`Platform: ${process.platform}-${process.arch}, ${process.release.name} ${process.version}.`,
		`Cause: ${cause}.`,
		"Remedy: the user reinstalls the package on this machine (pi install) and starts Pi anew.",
	].join("\n");
}
