//! One run of the extension's factory, and its handlers by the names of Pi's events.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::{
    Block, Caps, Environment, HiddenMessage, Ports, Registration, ResultPatch, SessionFacts,
    ToolCallFacts, ToolResultFacts, TurnFacts,
};

/// One instance of the extension.
pub struct Instance {
    _environment: Environment,
    _ports: Ports,
    _caps: Caps,
    ended: CancellationToken,
}

impl Instance {
    /// Builds an instance and arms the wait of its first turn (R5).
    #[must_use]
    pub fn new(environment: Environment, ports: Ports, caps: Caps) -> Arc<Self> {
        Arc::new(Self {
            _environment: environment,
            _ports: ports,
            _caps: caps,
            ended: CancellationToken::new(),
        })
    }

    /// `session_start`. Synchronous from end to end (R1).
    pub fn session_start(
        &self,
        _session: &SessionFacts,
        _register: &mut dyn FnMut(&Registration) -> Result<(), String>,
    ) {
    }

    /// `before_agent_start`.
    pub async fn before_agent_start(&self, _turn: TurnFacts) -> Option<HiddenMessage> {
        None
    }

    /// `tool_call`.
    pub async fn tool_call(&self, _call: ToolCallFacts) -> Option<Block> {
        None
    }

    /// `tool_result`.
    pub async fn tool_result(&self, _result: ToolResultFacts) -> Option<ResultPatch> {
        None
    }

    /// `turn_end`.
    pub fn turn_end(&self) {}

    /// `agent_settled`.
    pub fn agent_settled(&self) {}

    /// `session_shutdown`.
    pub fn session_shutdown(&self) {
        self.ended.cancel();
    }
}
