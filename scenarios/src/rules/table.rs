//! Every rule of the adapter and every failure met in the field, by id.

/// A rule (`C1` to `F3`) or a field failure (`O01` to `O12`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its id, as cases and tests cite it.
    pub id: &'static str,
    /// What it is about, in our own words.
    pub title: &'static str,
}

const fn rule(id: &'static str, title: &'static str) -> Rule {
    Rule { id, title }
}

/// All of them, in the order in which they are shown.
pub const RULES: [Rule; 56] = [
    rule("C1", "Settings come in layers, first hit wins per key"),
    rule("C2", "A project never chooses the executable"),
    rule("C3", "A faulty setting falls through and is told once"),
    rule("C4", "The words that switch a setting on and off"),
    rule("C5", "Only a spec that names a known preset passes"),
    rule("C6", "The registration always sets both surface variables"),
    rule("C7", "Nothing of a project reaches Pi's expansion"),
    rule(
        "C8",
        "The executable is absolute, checked, and the one that is spawned",
    ),
    rule("R1", "The session hook is one synchronous step"),
    rule("R2", "What is registered, and when"),
    rule(
        "R3",
        "Without connector or executable nothing is registered, and it is said",
    ),
    rule(
        "R4",
        "A refusal or a foreign connector is reported only when no tool appears",
    ),
    rule(
        "R5",
        "The first turn waits for the session hook, then for a graph tool",
    ),
    rule("R6", "An expired cap is reported by exactly one turn"),
    rule("R7", "An aborted wait, with a signal and without"),
    rule("R8", "Two turns that race brief once between them"),
    rule(
        "R9",
        "A host without a session hook costs one cap and one note",
    ),
    rule("R10", "Handles of a replaced session are left alone"),
    rule("R11", "Shutdown ends every wait and every child"),
    rule(
        "R12",
        "A first turn without a prompt is held and briefed the same",
    ),
    rule("R13", "An entry of mcp.json wins, and all else holds"),
    rule("B1", "One briefing an instance, on the first turn"),
    rule("B2", "Notes and briefing are one hidden message"),
    rule("B3", "A briefing that the branch holds is not stored again"),
    rule("B4", "A daemon below the floor is told to user and model"),
    rule(
        "H1",
        "Every call is sent to the hook, and its decision applied",
    ),
    rule("H2", "Calls are told in Gortex's vocabulary"),
    rule("H3", "The hook runs beside the host's threads"),
    rule("H4", "An abort ends the hook's whole group at once"),
    rule("H5", "Every failure of the hook is no decision"),
    rule("H6", "Guidance is added to the result that the model reads"),
    rule("H7", "Without graph tools nothing is forwarded"),
    rule("H8", "One hook child waits ready during a run"),
    rule("H9", "No child outlives its instance"),
    rule("E1", "A call that writes gets the diffs of its files"),
    rule("E2", "Diffs are those that Pi's own edit would store"),
    rule("E3", "A file that two calls write gets no diff in either"),
    rule("E4", "A note rather than a wrong or a late diff"),
    rule("E5", "Line endings and the byte-order mark are no content"),
    rule("E6", "A call that did not run leaves nothing behind"),
    rule("E7", "The terminal draws the diff above the result"),
    rule("F1", "A failure costs a capability, never the session"),
    rule("F2", "An addon that does not load is said, with the remedy"),
    rule("F3", "Nothing is written to the terminal"),
    rule("O01", "The first turn starts without tools"),
    rule("O02", "The hook has ended, and its pipe stays open"),
    rule("O03", "Noise where one document is expected"),
    rule("O04", "Work of an old instance ends late"),
    rule("O05", "The server dies with calls in flight"),
    rule("O06", "Unicode line separators inside a frame"),
    rule("O07", "A storm of changed lists"),
    rule("O08", "Two edits of one file in one batch"),
    rule("O09", "Comparisons without end"),
    rule("O10", "The person aborts while the extension waits"),
    rule("O11", "A failing decoration of a good result"),
    rule("O12", "The native addon cannot be loaded"),
];

/// Whether a case or a test may cite this id.
pub fn is_known(id: &str) -> bool {
    RULES.iter().any(|rule| rule.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_id_stands_once_and_no_number_is_left_out() {
        let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), RULES.len());
        for (letter, last) in [("C", 8), ("R", 13), ("B", 4), ("H", 9), ("E", 7), ("F", 3)] {
            let count = ids.iter().filter(|id| id.starts_with(letter)).count();
            assert_eq!(count, last, "{letter}");
            assert!(
                ids.contains(format!("{letter}{last}").as_str()),
                "{letter}{last}"
            );
        }
        assert_eq!(ids.iter().filter(|id| id.starts_with('O')).count(), 12);
    }
}
