//! Who is told what `setup` is doing: a spinner on a terminal, plain lines in a pipe.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Told of each step as it begins.
pub trait Progress {
    /// `text` is a short line in the present tense, such as `building the addon`.
    fn step(&self, text: &str);
}

/// A spinner on stderr that shows the step under way and is gone once dropped.
#[derive(Debug)]
pub struct Spinner(ProgressBar);

impl Spinner {
    /// Starts to spin at once.
    #[must_use]
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
            .with_style(ProgressStyle::default_spinner());
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }
}

impl Default for Spinner {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress for Spinner {
    fn step(&self, text: &str) {
        self.0.set_message(text.to_owned());
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// One line on stderr for each step.
#[derive(Debug, Default)]
pub struct Lines;

impl Progress for Lines {
    fn step(&self, text: &str) {
        // A reader that went away is no reason to stop setting up.
        let _ = writeln!(io::stderr().lock(), "setup: {text}");
    }
}

/// Tells nobody.
#[derive(Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _text: &str) {}
}

/// The spinner where stderr is a terminal, else [`Lines`].
#[must_use]
pub fn on_stderr() -> Box<dyn Progress> {
    if io::stderr().is_terminal() {
        Box::new(Spinner::new())
    } else {
        Box::new(Lines)
    }
}
