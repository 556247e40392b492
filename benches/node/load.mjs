// What a session costs the process that it lives in. Prints one JSON object.
import { execFile } from "node:child_process";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { session } from "./session.mjs";

const { addon, program, who, what, calls, inFlight, grown } = JSON.parse(process.argv[2]);

const nothing = () => {};
/** Who decides: the extension, Node's own way to ask a child, or nobody at all. */
const asked = {
	addon: () => session(addon, program, true),
	execFile: () => ({
		call: () =>
			new Promise((resolve, reject) => {
				const child = execFile(program, ["hook"], (error, stdout) => (error ? reject(error) : resolve(stdout)));
				child.stdin.end("{}");
			}),
		turnEnd: nothing,
		end: nothing,
	}),
	nobody: () => ({ call: () => turn(JSON.stringify({ id: "c", name: "read" })), turnEnd: nothing, end: nothing }),
};
const one = await asked[who]();

/** The delay of the event loop while `work` runs, and the time of each call that it gives back, in microseconds. */
const delay = async (work) => {
	const histogram = monitorEventLoopDelay({ resolution: 1 });
	histogram.enable();
	const times = await work();
	histogram.disable();
	return { p50: histogram.percentile(50) / 1000, p99: histogram.percentile(99) / 1000, times };
};
/** The time of one call, in microseconds. */
const timed = async () => {
	const from = performance.now();
	await one.call();
	return (performance.now() - from) * 1000;
};
/** As many calls as asked for, so many of them in one go. */
const bursts = async () => {
	const times = [];
	for (let done = 0; done < calls; done += inFlight) {
		times.push(...(await Promise.all(Array.from({ length: inFlight }, timed))));
		one.turnEnd();
	}
	return times;
};
/** As many calls as asked for, so many of them at any time. */
const steady = async () => {
	const times = [];
	let left = calls;
	const next = async () => {
		while (left-- > 0) times.push(await timed());
	};
	await Promise.all(Array.from({ length: inFlight }, next));
	return times;
};
const resident = async () => {
	for (let turn = 0; turn < 5; turn++) {
		global.gc();
		await sleep(20);
	}
	return process.memoryUsage().rss;
};

const measured = {
	/** The event loop, idle and with calls in flight. The first calls warm the code up. */
	loop: async () => {
		for (let call = 0; call < 100; call++) await one.call();
		const idle = await delay(() => sleep(1000, []));
		return { idle, bursts: await delay(bursts), steady: await delay(steady) };
	},
	/** One call behind another: the time of each, and what is resident after a hundred and after all of them. */
	calls: async () => {
		// As many of nothing may go first: a Node that has made so many has grown by itself, and does not go on growing.
		const nobody = asked.nobody();
		for (let call = 0; grown && call < calls; call++) await nobody.call();
		const times = new Float64Array(calls);
		let first;
		for (let call = 1; call <= calls; call++) {
			times[call - 1] = await timed();
			if (call % 10 === 0) one.turnEnd();
			if (call === 100) first = await resident();
		}
		const last = await resident();
		const tenth = calls / 10;
		return { grown: last - first, first: [...times.subarray(0, tenth)], last: [...times.subarray(-tenth)] };
	},
};
const found = await measured[what]();
one.end();
console.log(JSON.stringify(found));
