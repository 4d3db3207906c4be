//! Requests and answers.

use super::findings;
use crate::cause::synthetic::{MS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::Cause;

/// Causes of 30 requests, captured at the client, which asks 190 ms after each answer; the server takes about 110 ms,
/// more or less by up to `spread_ns`.
fn answers(spread_ns: u64) -> Vec<(Cause, Option<Cause>)> {
    let mut dialogue = Script::open(End::Second, 4 * MS, 20 * US, 60_000);
    for number in 0..30_u64 {
        dialogue.after(190 * MS).write(End::First, 90);
        let more_ns = number * 7 % 11 * spread_ns / 5;
        dialogue.after(110 * MS - spread_ns + more_ns);
        dialogue.write(End::Second, 700);
        dialogue.after(20 * US).confirm(End::First);
    }
    let found = findings(dialogue).into_iter();
    found
        .map(|it| (it.finding.cause, it.alternative_to))
        .collect()
}

#[test]
fn answers_after_a_constant_time_may_be_those_of_a_station_that_sleeps() {
    let asleep = (Cause::WakeUpLatency, Some(Cause::ServerThinkTime));
    let constant = answers(50 * US);
    assert_eq!(constant[0].0, Cause::ServerThinkTime, "{constant:?}");
    assert!(constant.contains(&asleep), "{constant:?}");
    let varied = answers(30 * MS);
    assert_eq!(varied[0].0, Cause::ServerThinkTime, "{varied:?}");
    assert!(!varied.contains(&asleep), "{varied:?}");
}
