// What a session costs under load: the host's event loop while 64 decisions are in flight, and memory and time over
// 10,000 calls. Prints one JSON object.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { session } from "./session.mjs";

const { addon, program, calls, inFlight, rounds } = JSON.parse(process.argv[2]);

const percentile = async (work) => {
	const histogram = monitorEventLoopDelay({ resolution: 1 });
	histogram.enable();
	await work();
	histogram.disable();
	return { p50: histogram.percentile(50) / 1000, p99: histogram.percentile(99) / 1000 };
};
const median = (times) => [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)];
const memory = async () => {
	for (let turn = 0; turn < 5; turn++) {
		global.gc();
		await sleep(20);
	}
	const { rss, heapUsed, external } = process.memoryUsage();
	return { rss, heapUsed, external };
};

const one = await session(addon, program, true);
for (let call = 0; call < 20; call++) await one.call();

// The same time without anything in flight: what the histogram counts of the timer itself.
const idle = await percentile(() => sleep(2000));
const loaded = await percentile(async () => {
	for (let round = 0; round < rounds; round++) {
		await Promise.all(Array.from({ length: inFlight }, () => one.call()));
		one.turnEnd();
	}
});

const times = [];
let first;
for (let call = 1; call <= calls; call++) {
	const from = performance.now();
	await one.call();
	times.push((performance.now() - from) * 1000);
	if (call % 10 === 0) one.turnEnd();
	if (call === 100) first = await memory();
}
const last = await memory();
one.end();
console.log(
	JSON.stringify({ idle, loaded, first, last, firstCalls: times.slice(0, 1000), lastCalls: times.slice(-1000), median: median(times) }),
);
