//! The keys of the settings, by name: what is read is what the package's README lists.

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its key in both files.
    pub name: &'static str,
    /// The environment variable that goes before both.
    pub variable: &'static str,
    /// The values that are taken, for a person.
    pub values: &'static str,
    /// What holds where no layer has it, for a person.
    pub default: &'static str,
    /// What it does, for a person.
    pub meaning: &'static str,
}

/// The Gortex executable (C2, C8).
pub const BIN: Key = Key {
    name: "bin",
    variable: "GORTEX_BIN",
    values: "a name on `PATH`, or a path",
    default: "`gortex`",
    meaning: "The Gortex program. Never taken from a project's file.",
};
/// The posture of the hook.
pub const HOOK_MODE: Key = Key {
    name: "hook_mode",
    variable: "GORTEX_HOOK_MODE",
    values: "`deny`, `enrich`, `consult-unlock`, `nudge`",
    default: "`deny`",
    meaning: "What becomes of a read or search that the graph answers better: blocked, only commented on, blocked until \
        the graph was asked, blocked once after a streak.",
};
/// Whether calls are judged at all.
pub const ENFORCE: Key = Key {
    name: "enforce",
    variable: "GORTEX_ENFORCE",
    values: "`true`, `false`",
    default: "`true`",
    meaning: "`false`: graph tools and briefing, and no call is judged.",
};
/// The tool surface (C5).
pub const TOOLS_PRESET: Key = Key {
    name: "tools_preset",
    variable: "GORTEX_TOOLS",
    values: "a preset of Gortex, with `,+tool` and `,-tool`",
    default: "Gortex's own",
    meaning: "Which graph tools there are.",
};
/// Whether a hook child may be kept ready (H8).
pub const WARM_HOOK: Key = Key {
    name: "warm_hook",
    variable: "GORTEX_WARM_HOOK",
    values: "`true`, `false`",
    default: "`true`",
    meaning: "Whether a hook process may be kept ready between calls.",
};

/// All of them, in the order of the README.
pub const KEYS: [Key; 5] = [BIN, HOOK_MODE, ENFORCE, TOOLS_PRESET, WARM_HOOK];
