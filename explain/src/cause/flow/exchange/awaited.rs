//! Answers that somebody awaits in one go: one after the other, in any connection, while the client asks again at once.

use super::thinking::{
    ANSWER_SEGMENTS, MIN_FULL, MIN_TIMES, MOST, NEWS_NS, PERSON_NS, Thinking, sent_ns,
};
use crate::cause::busy::union_ns;
use crate::cause::flow::facts::FlowFacts;

/// Times of a server and a client, on the clock of the capture.
#[derive(Default)]
pub(super) struct Awaited {
    /// Without the pauses in which the client has nothing to ask.
    busy: Vec<(u64, u64)>,
    /// The server's program works.
    waits: Vec<(u64, u64)>,
}

impl Awaited {
    /// Adds a connection.
    pub(super) fn add(&mut self, facts: &FlowFacts<'_>, thinking: &Thinking) {
        let start_ns = facts.connection().start_ns;
        let client = thinking.end.other();
        let pauses = facts.model.turns.waits[client as usize].iter();
        let mut from_ns = start_ns;
        for pause in pauses.filter(|it| it.ns > PERSON_NS) {
            let until_ns = start_ns + pause.start_ns;
            self.busy.push((from_ns, until_ns));
            from_ns = until_ns + pause.ns;
        }
        let last_ns = sent_ns(facts, thinking.end).last().unwrap_or(0);
        self.busy.push((from_ns, from_ns.max(start_ns + last_ns)));
        let event = event(facts, thinking);
        let work = thinking.times.iter();
        let work = work.filter(|(wait, _)| Some(wait.number) != event);
        self.waits.extend(work.map(|(wait, ns)| {
            let end_ns = start_ns + wait.start_ns + wait.ns;
            (end_ns.saturating_sub(*ns), end_ns)
        }));
    }

    /// The most time of the server's program between two pauses: requests at once wait for it only once.
    pub(super) fn most_ns(mut self) -> u64 {
        self.busy.sort_unstable();
        self.waits.sort_unstable();
        let mut waits = self.waits.into_iter().peekable();
        let mut busy = self.busy.into_iter().peekable();
        let mut most_ns = 0;
        while let Some((_, mut until_ns)) = busy.next() {
            while let Some((_, end_ns)) = busy.next_if(|it| it.0 <= until_ns + PERSON_NS) {
                until_ns = until_ns.max(end_ns);
            }
            let mut together = Vec::new();
            while let Some(wait) = waits.next_if(|it| it.0 <= until_ns) {
                together.push(wait);
            }
            most_ns = most_ns.max(union_ns(together));
        }
        most_ns
    }
}

/// The packet behind a short message that comes after more than a second, and takes most of the time before all answers: an event (long
/// polling; RFC 2177, IDLE), however soon the others come.
fn event(facts: &FlowFacts<'_>, thinking: &Thinking) -> Option<u32> {
    let (wait, ns) = thinking.times.iter().max_by_key(|(_, ns)| ns)?;
    let octets = wait.bytes.max(wait.bytes_before);
    let is_event = thinking.times.len() >= MIN_TIMES
        && *ns > NEWS_NS
        && *ns as f64 >= MOST * thinking.total_ns() as f64
        && octets < ANSWER_SEGMENTS * facts.full.max(MIN_FULL);
    is_event.then_some(wait.number)
}
