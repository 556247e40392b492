// Answers with what Pi's own functions make of two texts: one JSON line in, one out. `process.argv[2]` is Pi's entry.
// With `runs` it also says how long each of so many further runs of both functions took, in nanoseconds.
import { pathToFileURL } from "node:url";
import type * as Pi from "@earendil-works/pi-coding-agent";

interface Ask {
	path: string;
	old: string;
	new: string;
	runs?: number;
}

const { generateDiffString, generateUnifiedPatch }: typeof Pi = await import(pathToFileURL(process.argv[2] ?? "").href);

function answer(ask: Ask): object {
	const shown = generateDiffString(ask.old, ask.new);
	const patch = generateUnifiedPatch(ask.path, ask.old, ask.new);
	const nanoseconds: number[] = [];
	for (let run = 0; run < (ask.runs ?? 0); run++) {
		const from = process.hrtime.bigint();
		generateDiffString(ask.old, ask.new);
		generateUnifiedPatch(ask.path, ask.old, ask.new);
		nanoseconds.push(Number(process.hrtime.bigint() - from));
	}
	return { ...shown, patch, nanoseconds };
}

// Only LF ends a question. Node's own line reader would end one at U+2028 too (O06).
let rest: Buffer[] = [];
for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
	let from = 0;
	for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
		const line = Buffer.concat([...rest, chunk.subarray(from, end)]);
		rest = [];
		from = end + 1;
		process.stdout.write(`${JSON.stringify(answer(JSON.parse(line.toString("utf8"))))}\n`);
	}
	rest.push(chunk.subarray(from));
}
