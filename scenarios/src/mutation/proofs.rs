//! Which case notices which mistake.

use fake_pi::{Difference, Fault};

use crate::trace::Lane;

/// A mistake, and where it must be noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    /// The mistake.
    pub fault: Fault,
    /// The name of the case.
    pub case: &'static str,
    /// The lane in which its traces differ then.
    pub lane: Lane,
}

const fn proof(fault: Fault, case: &'static str, lane: Lane) -> Proof {
    Proof { fault, case, lane }
}

const fn older(difference: Difference, case: &'static str, lane: Lane) -> Proof {
    proof(Fault::Older(difference), case, lane)
}

/// One for each mistake, in few cases, since each is played on the real Pi.
pub const PROOFS: &[Proof] = &[
    proof(Fault::SwapsFirstEvents, "host/steered", Lane::Extension),
    proof(Fault::DropsAMember, "host/steered", Lane::Host),
    proof(Fault::ChangesAnErrorText, "host/withdrawn-tool", Lane::Host),
    proof(
        Fault::ReordersResults,
        "abort/batch-being-prepared",
        Lane::Model,
    ),
    proof(Fault::SkipsTheFirstWait, "host/first-wait", Lane::Model),
    proof(Fault::SteersLate, "host/steered", Lane::Model),
    proof(
        Fault::LosesStructuredContent,
        "host/first-wait",
        Lane::Extension,
    ),
    proof(Fault::KeepsOldInstances, "host/old-handle", Lane::Host),
    proof(Fault::LeavesServersRunning, "host/steered", Lane::Person),
    proof(Fault::DropsHiddenMessages, "host/steered", Lane::Model),
    proof(Fault::ChangesSchemas, "host/steered", Lane::Model),
    proof(
        Fault::RunsBatchesInSequence,
        "diffs/blocked-sibling",
        Lane::Host,
    ),
    proof(
        Fault::ForgetsTheAbortText,
        "abort/batch-being-prepared",
        Lane::Host,
    ),
    proof(Fault::ExitsWithOne, "host/steered", Lane::Person),
    proof(
        Fault::IgnoresListChanged,
        "host/withdrawn-tool",
        Lane::Model,
    ),
    proof(Fault::ReversesHandlers, "host/steered", Lane::Extension),
    proof(Fault::HidesExtensionErrors, "host/old-handle", Lane::Host),
    proof(Fault::IgnoresPatches, "order/patched-results", Lane::Host),
    proof(Fault::RunsOriginalArguments, "order/after-ours", Lane::Mcp),
    proof(Fault::IgnoresBlocks, "diffs/blocked-sibling", Lane::Model),
    proof(
        Fault::ForksTooLate,
        "sessions/resume-fork-reload",
        Lane::Model,
    ),
    proof(Fault::HidesAborts, "abort/batch-being-prepared", Lane::Host),
    older(
        Difference::StartsReplacedTwice,
        "host/old-handle",
        Lane::Extension,
    ),
    older(
        Difference::ForgetsCallsAfterAbort,
        "abort/batch-being-prepared",
        Lane::Model,
    ),
    older(
        Difference::EndsAbortedBatchAsError,
        "abort/batch-being-prepared",
        Lane::Host,
    ),
    older(
        Difference::OmitsMessageType,
        "host/steered",
        Lane::Extension,
    ),
    older(Difference::OmitsAborted, "host/steered", Lane::Host),
    older(Difference::OmitsDurations, "host/steered", Lane::Host),
    older(
        Difference::CallsWithdrawnTools,
        "host/withdrawn-tool",
        Lane::Mcp,
    ),
    older(
        Difference::StartsOnMessagesUntold,
        "readiness/started-by-a-message",
        Lane::Extension,
    ),
    older(Difference::ShowsTextAtStart, "host/steered", Lane::Host),
    older(
        Difference::AsksForShortSummaries,
        "history/compaction",
        Lane::Model,
    ),
    older(
        Difference::IsIdleWhilePreparing,
        "abort/held-first-turn",
        Lane::Person,
    ),
    older(
        Difference::OmitsOwnStructuredContent,
        "host/steered",
        Lane::Extension,
    ),
];
