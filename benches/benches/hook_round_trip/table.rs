//! What was measured, in a table: medians with their spread, and ratios against their targets.

use std::fmt;
use std::time::Duration;

/// Times of one way, in microseconds.
#[derive(Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds one.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time.as_secs_f64() * 1e6);
    }

    /// Adds those of another run.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// All of them, in the order in which they were measured, in microseconds.
    pub fn times(&self) -> &[f64] {
        &self.0
    }

    /// Of times in microseconds.
    pub fn of(times: Vec<f64>) -> Self {
        Self(times)
    }

    /// The time that `share` of all are below, from 0 to 1.
    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place in a list of some hundred"
        )]
        let at = (last as f64 * share).round() as usize;
        sorted.get(at).copied().unwrap_or(f64::NAN)
    }

    /// The median.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The ratio of the medians.
    pub fn against(&self, name: &'static str, base: &Self) -> Ratio {
        Ratio {
            text: format!("{:.2} x {name}", self.median() / base.median()),
            value: self.median() / base.median(),
            target: None,
        }
    }

    /// How many times faster than this another way is.
    pub fn faster(&self, name: &'static str, other: &Self) -> Ratio {
        let value = self.median() / other.median();
        Ratio {
            text: format!("{value:.1} times faster than {name}"),
            value,
            target: None,
        }
    }

    /// The median, in milliseconds.
    pub fn takes(&self) -> Ratio {
        let value = self.median() / 1e3;
        Ratio {
            text: format!("{value:.2} ms"),
            value,
            target: None,
        }
    }

    /// What it takes longer than something else, in microseconds.
    pub fn adds(added: f64) -> Ratio {
        Ratio {
            text: format!("{added:+.0} us"),
            value: added,
            target: None,
        }
    }
}

/// A figure and what it should be.
pub struct Ratio {
    text: String,
    value: f64,
    target: Option<(bool, String)>,
}

impl Ratio {
    /// It should not be above.
    pub fn at_most(mut self, target: f64) -> Self {
        self.target = Some((self.value <= target, format!("at most {target:.2}")));
        self
    }

    /// It should not be below.
    pub fn at_least(mut self, target: f64) -> Self {
        self.target = Some((self.value >= target, format!("at least {target:.0}")));
        self
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)?;
        match &self.target {
            Some((true, target)) => write!(out, " (met: {target})"),
            Some((false, target)) => write!(out, " (MISSED: {target})"),
            None => Ok(()),
        }
    }
}

/// A way, as it was measured with a child.
pub struct Row {
    /// The child.
    pub child: &'static str,
    /// How it was asked.
    pub way: &'static str,
    /// The times.
    pub samples: Samples,
    ratios: Vec<Ratio>,
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratios: Vec<String> = self.ratios.iter().map(Ratio::to_string).collect();
        write!(
            out,
            "{:<18} {:<26} {:>7.0} {:>7.0} {:>7.0}   {}",
            self.child,
            self.way,
            self.samples.median(),
            self.samples.quantile(0.25),
            self.samples.quantile(0.75),
            ratios.join(", ")
        )
    }
}

/// The table as it grows.
#[derive(Default)]
pub struct Table(Vec<Row>);

impl Table {
    /// Adds a way, unless it was not measured.
    pub fn add(
        &mut self,
        child: &'static str,
        way: &'static str,
        samples: Samples,
        ratios: Vec<Ratio>,
    ) {
        if !samples.times().is_empty() {
            self.0.push(Row {
                child,
                way,
                samples,
                ratios,
            });
        }
    }

    /// Every way.
    pub fn rows(&self) -> &[Row] {
        &self.0
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{:<18} {:<26} {:>7} {:>7} {:>7}   ratio of medians",
            "child", "way (us)", "median", "q1", "q3"
        )?;
        self.0.iter().try_for_each(|row| writeln!(out, "{row}"))
    }
}
