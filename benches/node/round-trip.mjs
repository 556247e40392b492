// Node's own ways to ask a child, and the addon's. Each line on stdin names one; its time in microseconds is printed.
import { execFile, execFileSync } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { session } from "./session.mjs";

const { addon, program, envelope, pause } = JSON.parse(process.argv[2]);
const args = ["hook", "--agent=pi"];
const cold = await session(addon, program, false);
const warm = await session(addon, program, true);

const ways = {
	execFileSync: () => execFileSync(program, args, { input: envelope, stdio: ["pipe", "pipe", "ignore"] }),
	execFile: () =>
		new Promise((resolve, reject) => {
			const child = execFile(program, args, (error, stdout) => (error ? reject(error) : resolve(stdout)));
			child.stdin.end(envelope);
		}),
	cold: cold.call,
	warm: warm.call,
};
for await (const way of createInterface(process.stdin)) {
	await sleep(pause);
	const from = performance.now();
	await ways[way]();
	console.log((performance.now() - from) * 1000);
}
cold.end();
warm.end();
