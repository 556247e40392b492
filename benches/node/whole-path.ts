// An extension of the real Pi that measures: a tool that does nothing, and the time from Pi's start of a call until the
// tool runs, in microseconds. `BENCH_TIMES` names the file for that and for what shows whether Gortex's extension was there:
// its tools, and how many results hold what its hook says (`BENCH_GUIDANCE`).
import { writeFileSync } from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function measure(pi: ExtensionAPI) {
	const times: number[] = [];
	let [started, guided] = [0, 0];
	pi.on("tool_execution_start", () => {
		started = performance.now();
	});
	pi.on("tool_execution_end", (event) => {
		if (JSON.stringify(event.result).includes(process.env.BENCH_GUIDANCE ?? "")) guided++;
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
	pi.on("agent_settled", () => {
		const graphTools = pi.getAllTools().some((tool) => tool.name.startsWith("mcp__gortex__"));
		writeFileSync(process.env.BENCH_TIMES ?? "", JSON.stringify({ times, graphTools, guided }));
	});
}
