//! A play follows its script: the model was asked as often as it has answers.

use super::Failure;
use crate::case::Case;
use crate::trace::{Lane, Trace};

/// No request was left without an answer, and no answer without a request.
pub fn was_followed(case: &Case, trace: &Trace) -> Vec<Failure> {
    const CHECK: &str = "the script of the model";
    let asked = trace.named(Lane::Model, "request").count();
    let answers = case.model.len();
    let what = match asked.cmp(&answers) {
        std::cmp::Ordering::Equal => return Vec::new(),
        std::cmp::Ordering::Greater => {
            format!("{asked} requests came, and the case has {answers} answers")
        }
        std::cmp::Ordering::Less => {
            format!("only {asked} requests came for the {answers} answers of the case")
        }
    };
    vec![Failure::new(CHECK, what)]
}
