//! The person's own shell commands: from before one runs until its result is known to be there (E4).

use super::Instance;
use crate::UserBashFacts;
use crate::edits::Watch;

/// The commands that may still run.
///
/// Pi tells when one begins and not when it ends, but it keeps each result, at the latest when the run is over in which
/// the command ended. So when a run begins, as many results more than there were mean that all of them have ended. One
/// that has no result, since another extension stopped it, counts as running for as long as the instance lives.
#[derive(Default)]
pub(super) struct Commands {
    /// Claims whatever they write. One claim stands for all of them.
    claim: Option<Watch>,
    /// How many results there are once all of them have ended.
    results: usize,
}

impl Commands {
    /// Takes up a command, with how many results there were before it, if that is known. Gives back the claim that is
    /// needed no more, which must not end under the lock of the instance.
    fn begin(&mut self, claim: Watch, results: Option<usize>) -> Option<Watch> {
        if self.claim.is_none() {
            self.results = results.unwrap_or(usize::MAX);
        }
        self.results = self.results.saturating_add(1);
        self.claim.replace(claim)
    }

    /// Gives back the claim where there are as many results as there were commands.
    fn end(&mut self, results: Option<usize>) -> Option<Watch> {
        let ended = results.is_some_and(|results| results >= self.results);
        self.claim.take_if(|_| ended)
    }

    /// Gives back the claim.
    pub(super) fn forget(&mut self) -> Option<Watch> {
        self.claim.take()
    }
}

impl Instance {
    /// `user_bash`: the command may write any file from now on, so that diffs of calls beside it are not to be trusted.
    pub fn user_bash(&self, command: &UserBashFacts) {
        let claim = Watch::unnamed(&self.ports.writes, self.owner, self.folder(&command.cwd));
        // The new claim stands before the one of earlier commands ends, so that no call slips in between.
        let replaced = self.keep(|state| state.commands.begin(claim, command.results));
        drop(replaced);
    }

    /// A run begins, and the session holds so many results of commands.
    pub(super) fn look_for_results(&self, results: Option<usize>) {
        let ended = self.state().commands.end(results);
        drop(ended);
    }
}
