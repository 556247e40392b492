// Times, in microseconds, of Node's own ways to ask a child and of the addon's, in turns in one process.
import { execFile, execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { session } from "./session.mjs";

const { addon, program, envelope, rounds, pause } = JSON.parse(process.argv[2]);
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
const times = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
// The first round warms the code up.
for (let round = -1; round < rounds; round++) {
	for (const [way, ask] of Object.entries(ways)) {
		await sleep(pause);
		const from = performance.now();
		await ask();
		if (round >= 0) times[way].push((performance.now() - from) * 1000);
	}
}
cold.end();
warm.end();
console.log(JSON.stringify(times));
