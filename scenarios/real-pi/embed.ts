// A program around Pi's SDK, as an embedding host writes one: it makes sessions one after the other in one process, and
// speaks lines like those of Pi's RPC, so that the same runner drives it. What it is told stands in its argument.
import { createInterface } from "node:readline";
import type * as Sdk from "@earendil-works/pi-coding-agent";

interface Told {
	sdk: string;
	provider: string;
	model: string;
	extensions: string[];
	connects: boolean;
	trusted: boolean;
	binds: boolean;
}

interface Command {
	id?: string;
	type: string;
	message?: string;
	streamingBehavior?: "steer" | "followUp";
}

const told: Told = JSON.parse(process.argv[2] ?? "{}");
const sdk: typeof Sdk = await import(told.sdk);
const cwd = process.cwd();
const agentDir = sdk.getAgentDir();
const say = (record: object) => process.stdout.write(`${JSON.stringify(record)}\n`);

let session: Sdk.AgentSession;
await open();

/** Makes a session, and starts its extensions where this program is one that does. */
async function open() {
	const settingsManager = sdk.SettingsManager.create(cwd, agentDir, { projectTrusted: told.trusted });
	const connects = told.connects ? [sdk.createMcpExtension()] : [];
	const resourceLoader = new sdk.DefaultResourceLoader({
		cwd,
		agentDir,
		settingsManager,
		additionalExtensionPaths: told.extensions,
		extensionFactories: [sdk.createCodemodeExtension(), sdk.createToolSearchExtension(), ...connects],
	});
	await resourceLoader.reload();
	const modelRuntime = await sdk.ModelRuntime.create({ modelsPath: `${agentDir}/models.json`, authPath: `${agentDir}/auth.json` });
	const model = modelRuntime.getModel(told.provider, told.model);
	const made = await sdk.createAgentSession({ cwd, agentDir, model, modelRuntime, settingsManager, resourceLoader });
	session = made.session;
	session.subscribe(say);
	if (!told.binds) return;
	await session.bindExtensions({
		commandContextActions: {
			waitForIdle: () => session.waitForIdle(),
			newSession: async () => ({ cancelled: false }),
			fork: async () => ({ cancelled: false }),
			navigateTree: async () => ({ cancelled: false }),
			switchSession: async () => ({ cancelled: false }),
			reload: () => session.reload(),
		},
		onError: ({ extensionPath, event, error }) => say({ type: "extension_error", extensionPath, event, error }),
	});
}

/** Does what a command asks; a prompt is answered when it is known what becomes of it. */
async function perform(command: Command): Promise<object | undefined> {
	const { id, type, message = "", streamingBehavior } = command;
	const done = (data?: object) => ({ id, type: "response", command: type, success: true, ...(data && { data }) });
	switch (type) {
		case "prompt":
			await session.prompt(message, { streamingBehavior, preflightResult: (disposition) => say(done({ disposition })) });
			return undefined;
		case "abort":
			await session.abort();
			return done();
		case "new_session":
			session.dispose();
			await open();
			return done({ cancelled: false });
		case "get_state":
			return done({ sessionFile: session.sessionFile });
		case "get_entries":
			return done({ entries: session.sessionManager.getEntries(), leafId: session.sessionManager.getLeafId() });
		default:
			throw new Error(`Unknown command: ${type}`);
	}
}

const lines = createInterface({ input: process.stdin });
lines.on("line", async (line) => {
	const command: Command = JSON.parse(line);
	try {
		const answer = await perform(command);
		if (answer) say(answer);
	} catch (error) {
		say({ id: command.id, type: "response", command: command.type, success: false, error: error instanceof Error ? error.message : String(error) });
	}
});
lines.on("close", () => {
	session.dispose();
	process.exit(0);
});
