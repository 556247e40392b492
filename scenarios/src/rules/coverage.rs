//! Rules, cases and tests joined.

use super::cited::CitedTest;
use super::table::{RULES, Rule};
use crate::suite::Named;

/// A rule and what covers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// The rule.
    pub rule: Rule,
    /// The names of the cases that say so.
    pub cases: Vec<String>,
    /// The names of the tests that cite it.
    pub tests: Vec<String>,
}

impl Coverage {
    /// Whether nothing covers the rule.
    pub fn is_missing(&self) -> bool {
        self.cases.is_empty() && self.tests.is_empty()
    }
}

/// What covers each rule, in the rules' order.
pub fn coverage(cases: &[Named], tests: &[CitedTest]) -> Vec<Coverage> {
    let of = |rule: &Rule| {
        let covers = |named: &&Named| named.case.covers.iter().any(|id| id == rule.id);
        let cites = |test: &&CitedTest| test.ids.iter().any(|id| id == rule.id);
        Coverage {
            rule: *rule,
            cases: cases
                .iter()
                .filter(covers)
                .map(|named| named.name.clone())
                .collect(),
            tests: tests
                .iter()
                .filter(cites)
                .map(|test| test.name.clone())
                .collect(),
        }
    };
    RULES.iter().map(of).collect()
}
