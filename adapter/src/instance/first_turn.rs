//! The first turn: its two waits, and the one message that it stores (R5-R9, B1-B4, H7).

use futures::future::try_join;
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout};

use super::session::Channel;
use super::{GraphTools, Instance};
use crate::briefing::{Version, is_stored};
use crate::hook::Envelope;
use crate::{HiddenMessage, TurnFacts, texts};

impl Instance {
    /// Holds and briefs the first turn; later ones pass at once. Dropped midway it has used up nothing (R7).
    pub(super) async fn brief(&self, turn: &TurnFacts) -> Option<HiddenMessage> {
        let mut done = self.first_turn.lock().await;
        if *done {
            return None;
        }
        let session_ran = timeout(self.caps.session_hook, self.session_ran.cancelled())
            .await
            .is_ok();
        let (channel, has_ui) = match &self.state().session {
            Some(session) => (Some(session.channel.clone()), session.has_ui),
            None => (None, false),
        };
        let found = self
            .wait_for_graph_tools(session_ran, channel.as_ref())
            .await?;
        // What this instance met is told whatever the branch holds (B3, R6): a note that an earlier one left there
        // speaks of another time, and between the two there may have been tools.
        let note = (found == GraphTools::Unlisted).then(|| match channel {
            Some(Channel::Unavailable(text)) => text,
            Some(Channel::Refused(reason)) => texts::refused(&reason),
            Some(Channel::Foreign(source)) => texts::foreign_connector(&source),
            Some(Channel::Registered) | None => texts::NOT_YET_CALLABLE.to_owned(),
        });
        let (briefing, stored) = self.briefing(turn).await?;
        // The version is a fact of the briefing, and its note is stored as often as that.
        let old = Version::of_briefing(&briefing).filter(|version| *version < Version::FLOOR);
        let floor = Version::FLOOR.to_string();
        let skew = old.map(|version| texts::old_daemon_model(&version.to_string(), &floor));
        let fresh = |text: &String| !text.trim().is_empty() && !is_stored(text, &stored);
        let about_daemon = skew.into_iter().chain([briefing]).filter(fresh);
        let parts: Vec<_> = note.into_iter().chain(about_daemon).collect();

        // From here on nothing waits, so that what is marked as said is said.
        *done = true;
        self.state().without_graph_tools = found != GraphTools::Callable;
        if let Some(version) = old {
            self.tell_user(
                &texts::old_daemon_user(&version.to_string(), &floor),
                has_ui,
            );
        }
        self.log(&format!(
            "first turn: graph tools {found:?}, {} part(s) to tell",
            parts.len()
        ));
        (!parts.is_empty()).then(|| HiddenMessage::new(parts.join("\n\n")))
    }

    /// Looks for graph tools until one is listed or nothing more can be hoped for. `None` once the session is gone.
    async fn wait_for_graph_tools(
        &self,
        session_ran: bool,
        channel: Option<&Channel>,
    ) -> Option<GraphTools> {
        // A host that never ran the session hook has cost one cap already (R9), and where nothing was registered
        // nothing is on its way (R3). Still, tools that are there must not be called unavailable (R13).
        let hopeless = !session_ran || matches!(channel, Some(Channel::Unavailable(_)));
        let cap = if hopeless {
            self.caps.poll
        } else {
            self.caps.graph_tools
        };
        let until = Instant::now() + cap;
        loop {
            let asked = Instant::now();
            let found = match self.graph_tools(until).await {
                Some(found) => found,
                // Late is not gone: the host may be busy, and the turn goes on without.
                None if Instant::now() >= until && Instant::now() > asked => GraphTools::Unlisted,
                None => return None,
            };
            if found != GraphTools::Unlisted || hopeless || Instant::now() >= until {
                return Some(found);
            }
            sleep_until(until.min(Instant::now() + self.caps.poll)).await;
        }
    }

    /// The briefing, and what earlier instances stored. Asked for at once, so that a slow host adds nothing to the cap
    /// of the hook. `None` once the session is gone.
    async fn briefing(&self, turn: &TurnFacts) -> Option<(String, Vec<Value>)> {
        let settings = self.settings(&turn.cwd);
        let envelope = Envelope::session_start(&turn.cwd, &turn.session_id);
        let asked = self.ask(&settings, "session_start", envelope, &turn.cwd);
        let briefing = async { Ok(asked.await.orientation) };
        let stored = async { self.stored_messages().await.ok_or(()) };
        try_join(briefing, stored).await.ok()
    }

    /// The messages that earlier instances stored on this branch (B3). A host that is slow to tell has none.
    async fn stored_messages(&self) -> Option<Vec<Value>> {
        let asked = self.ports.host.custom_messages(HiddenMessage::CUSTOM_TYPE);
        timeout(self.caps.hook_call, asked)
            .await
            .unwrap_or_else(|_| Some(Vec::new()))
    }
}
