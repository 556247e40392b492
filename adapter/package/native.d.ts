// The native addon's types, generated from adapter/node/src by its tests/types.rs. Do not edit.

/** How loud a notification is, in Pi's words. */
export type Level = "info" | "warning" | "error";

/**
 * The abort of a run. JavaScript cancels it from the listener of an `AbortSignal` (H4): the core then settles the promises
 * of the handlers that it was lent to at once.
 */
export declare class AbortHandle {
	/** A handle that is not cancelled. */
	constructor();
	/** Cancels. Any number of times, from within any handler. */
	cancel(): void;
}

/** One instance of the extension. Every text in and out is JSON. */
export declare class Adapter {
	/**
	 * Builds an instance.
	 *
	 * `environment` is `{vars, home?, cwd?}`. The callbacks run on JavaScript's thread and must not throw: `tools` answers
	 * `[{name, exposure?}]`, `custom_messages` takes a `customType` and answers the list of contents, both `null` once
	 * the session was replaced; `notify` takes a message and a level.
	 *
	 * Throws:
	 * Where the environment cannot be read or Node refuses the callbacks.
	 */
	constructor(environment: string, tools: () => string | null, customMessages: (customType: string) => string | null, notify: (text: string, level: Level) => void);
	/**
	 * `session_start`. Calls `register` before it returns, or not at all (R1).
	 *
	 * Throws:
	 * Where the facts cannot be read; nothing was done then.
	 */
	sessionStart(facts: string, register: (name: string, config: string) => string | null): void;
	/**
	 * `before_agent_start`. Resolves to the message to store, or to `null`; never rejects.
	 *
	 * Throws:
	 * Where the facts cannot be read; nothing was done then.
	 */
	beforeAgentStart(facts: string, abort?: AbortHandle | null): Promise<string | null>;
	/**
	 * `tool_call`. Resolves to the reason of a block, or to `null`; never rejects.
	 *
	 * Throws:
	 * Where the facts cannot be read; nothing was done then.
	 */
	toolCall(facts: string, abort?: AbortHandle | null): Promise<string | null>;
	/**
	 * `tool_result`. Resolves to a [`Difference`], or to `null`; never rejects.
	 *
	 * Throws:
	 * Where the facts cannot be read; nothing was done then.
	 */
	toolResult(facts: string, abort?: AbortHandle | null): Promise<string | null>;
	/**
	 * `user_bash`. Takes `{cwd, results?}`, the number of `bashExecution` messages that the session holds.
	 *
	 * Throws:
	 * Where the facts cannot be read; nothing was done then.
	 */
	userBash(facts: string): void;
	/** `turn_end`. */
	turnEnd(): void;
	/** `agent_settled`. */
	agentSettled(): void;
	/** `session_shutdown`. Every pending promise of this instance settles, and no callback is called any more (R11). */
	sessionShutdown(): void;
}

/**
 * The number that the TypeScript beside the addon compares with its own before it builds anything.
 *
 * A loaded addon stays for the life of a process while TypeScript is read anew on each load, so new glue can meet an
 * old addon (portal.md D4). Raise it with every change of a method, an argument or the meaning of a text.
 */
export declare const ABI: number;
