//! The largest question and the largest answer (H5, H8): 16 MiB each way, in any order that a hook may read and write.
//! Neither side waits for the other, cold or warm. On the real clock; nothing sleeps, and the deadline is only a net.

use adapter::hook::{Decision, Envelope};
use adapter::{HookAsk, HookEnd, HookReport};

use crate::asked::report;
use crate::question::ask;
use crate::waiting::ready;

/// A decision, padded with white space to a number of bytes.
fn answer(bytes: usize) -> String {
    let decision = r#"{"block":true,"reason":"R"}"#;
    let padding = bytes - decision.len();
    format!("printf '{decision}'; head -c {padding} /dev/zero | tr '\\0' ' '")
}

/// Ends otherwise than well unless this many bytes of the question come before its end.
fn rest(bytes: usize) -> String {
    format!("test \"$(wc -c)\" -eq {bytes} || exit 9")
}

/// Scripts that take in a question of the most bytes and answer with `bytes`, by what they do.
fn hooks(bytes: usize) -> [(&'static str, String); 3] {
    let (all, but_one) = (Envelope::MAX_BYTES, Envelope::MAX_BYTES - 1);
    // By its first byte a child that waits is told that it is asked: one that speaks before is none.
    let first = "dd bs=1 count=1 of=/dev/null 2>/dev/null";
    let answer = answer(bytes);
    [
        (
            "answers while it reads",
            format!("{first}; ({answer}) & {}; wait $!", rest(but_one)),
        ),
        (
            "answers, then reads",
            format!("{first}; {answer}; {}", rest(but_one)),
        ),
        ("reads, then answers", format!("{}; {answer}", rest(all))),
    ]
}

/// The largest question.
fn largest(script: &str) -> HookAsk {
    let mut question = ask(script);
    question.envelope = vec![b'x'; Envelope::MAX_BYTES];
    question
}

async fn cold(script: &str) -> HookReport {
    report(largest(script)).await
}

async fn warm(script: &str) -> HookReport {
    let question = largest(script);
    let ready = ready(&question).await;
    ready.ask(question).await.expect("a child that waited")
}

#[tokio::test]
async fn h5_h8_16_mib_each_way_pass_in_any_order() {
    for (what, script) in hooks(HookReport::MAX_BYTES) {
        let block = Decision {
            block: true,
            reason: "R".to_owned(),
            ..Decision::default()
        };
        for report in [cold(&script).await, warm(&script).await] {
            assert_eq!(report.end, HookEnd::Exited(0), "{what}");
            assert_eq!(report.stdout.len(), HookReport::MAX_BYTES, "{what}");
            assert_eq!(Decision::read(&report).as_ref(), Ok(&block), "{what}");
        }
    }
}

/// What comes in is what went out, byte for byte, and nothing of it twice or out of its place.
#[tokio::test]
async fn h5_h8_16_mib_come_back_as_they_were_put() {
    let numbered = |mut question: HookAsk| {
        let words = (0_u32..).flat_map(u32::to_le_bytes);
        question.envelope = words.take(Envelope::MAX_BYTES).collect();
        question
    };
    let question = numbered(ask("exec cat"));
    let cold = report(question.clone()).await;
    let ready = ready(&question).await;
    let envelope = question.envelope.clone();
    let asked = ready.ask(question).await;
    for report in [cold, asked.expect("a child that waited")] {
        assert_eq!(report.end, HookEnd::Exited(0));
        assert!(report.stdout == envelope, "other bytes came back");
    }
}

#[tokio::test]
async fn h5_h8_an_answer_of_one_byte_more_is_too_large() {
    for (what, script) in hooks(HookReport::MAX_BYTES + 1) {
        for report in [cold(&script).await, warm(&script).await] {
            assert_eq!(report.end, HookEnd::TooLarge, "{what}");
        }
    }
}
