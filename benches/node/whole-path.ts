// An extension of the real Pi that measures: a tool that does nothing, and the time from Pi's start of a call until the
// tool runs. `BENCH_TIMES` names the file for the times, in microseconds.
import { writeFileSync } from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function measure(pi: ExtensionAPI) {
	const times: number[] = [];
	let started = 0;
	pi.on("tool_execution_start", () => {
		started = performance.now();
	});
	pi.registerTool({
		name: "probe",
		label: "Probe",
		description: "Does nothing.",
		parameters: { type: "object", properties: {} } as never,
		execute: async () => {
			times.push((performance.now() - started) * 1000);
			return { content: [{ type: "text", text: "done" }], details: {} };
		},
	});
	pi.on("agent_settled", () => writeFileSync(process.env.BENCH_TIMES ?? "", JSON.stringify(times)));
}
