//! Data that waits behind data of the same transfer.

use super::facts::FlowFacts;
use super::sender::MIN_ROUND_TRIPS;
use linerate_capture::model::{RoundTrips, percentile};

/// Segments leave an empty path idle where at most this part of the most is in flight.
const FEW_DIVISOR: u64 = 3;
/// As good as the most.
const FULL: f64 = 0.8;
/// Fewer round trips of either kind may be chance.
const MIN_FEW: usize = 5;
const MIN_FULL: usize = 20;
/// Whoever keeps a path full has so many round trips for each of few segments.
const FULL_OF_EACH_FEW: usize = 8;
/// Percentile of the round trips that those of the beginning leave.
const LOW_PERCENTILE: usize = 20;
/// A round trip without a queue exceeds the shortest one by less than this: by this part of it, and a tick of a small host or the time of
/// some segments on a slow link.
const LONGER_DIVISOR: u64 = 2;
const LONGER_NS: u64 = 2_000_000;
/// A receiver that acknowledges late acknowledges a larger part of the window.
const PARTS: u64 = 4;
/// Round trips that grow by this part of the shortest ones, and more than hosts and radios vary, are those of a queue.
const GROWTH_DIVISOR: u64 = 4;
const MIN_GROWTH_NS: u64 = 10_000_000;

/// True if round trips grow with what is in flight: where that is nearly `most` octets, the window or the buffer, nearly all take longer than nearly all of
/// those of a few segments. Windows that leave the path idle form no queue, for their segments follow acknowledgments, which come at the rate of the
/// path.
pub(super) fn grows_with_flight(facts: &FlowFacts<'_>, most: u64) -> bool {
    let model = &facts.model;
    if model.is_near_receiver() {
        return false;
    }
    let mut trips: Vec<(u64, u64)> = model
        .to_receiver
        .samples()
        .iter()
        .map(|(answered_ns, ns)| (answered_ns.saturating_sub(*ns), *ns))
        .collect();
    trips.sort_unstable();
    let flights = model.unacknowledged_at(trips.iter().map(|(sent_ns, _)| *sent_ns));
    let (mut few, mut full) = (Vec::new(), Vec::new());
    for (flight, (_, ns)) in flights.into_iter().zip(&trips) {
        if flight * FEW_DIVISOR <= most {
            few.push(*ns);
        } else if flight as f64 >= FULL * most as f64 {
            full.push(*ns);
        }
    }
    // Behind bursts with pauses, a path is idle in between.
    if few.len() < MIN_FEW || full.len() < MIN_FULL || few.len() * FULL_OF_EACH_FEW > trips.len() {
        return false;
    }
    let longest_of_few = percentile(few, 75).unwrap_or(u64::MAX);
    let least_ns =
        longest_of_few.saturating_add((longest_of_few / GROWTH_DIVISOR).max(MIN_GROWTH_NS));
    percentile(full, 25).is_some_and(|ns| ns >= least_ns)
}

/// True if hardly any round trip is as short as the shortest one, although, as far as it shows, the receiver acknowledges a small part of
/// `most` octets, the window, at a time: segments pass something one after the other.
pub(super) fn always_waits(facts: &FlowFacts<'_>, most: u64) -> bool {
    let model = &facts.model;
    if model.is_near_receiver() {
        return waits_before_capture(facts, 0);
    }
    let acks = model.view.acks.windows(2);
    let steps = acks.map(|pair| pair[1].ack.saturating_sub(pair[0].ack));
    let step = percentile(steps.filter(|it| *it > 0).collect(), 50);
    !facts.begins_late()
        && model.to_receiver.count() >= MIN_ROUND_TRIPS
        && step.is_some_and(|it| it * PARTS <= most)
        && are_always_longer(&model.to_receiver, 0)
}

/// True if hardly any round trip to the sender is nearly as short as the shortest one and `reaction_ns`, in which the sender answers: what
/// arrives at the receiver has always waited.
pub(super) fn waits_before_capture(facts: &FlowFacts<'_>, reaction_ns: u64) -> bool {
    let model = &facts.model;
    model.is_near_receiver()
        && model.to_sender.count() >= MIN_ROUND_TRIPS
        && are_always_longer(&model.to_sender, reaction_ns)
}

/// True as well where something nearer than the receiver answers the handshake: nothing distinguishes that from waiting.
fn are_always_longer(trips: &RoundTrips, by_ns: u64) -> bool {
    let shortest_ns = trips.base_ns().zip(trips.percentile(LOW_PERCENTILE));
    shortest_ns.is_some_and(|(empty_ns, ns)| {
        ns >= empty_ns + empty_ns / LONGER_DIVISOR + LONGER_NS + by_ns
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::synthetic::{MS, MSS, Script, US, stamps};
    use linerate_capture::tcp::{End, Segment};

    /// Up to ten segments in flight, each of which takes a link `each_ns`.
    fn grows(each_ns: u64) -> bool {
        let upload = Script::behind_link(10 * MSS as u16, |_| each_ns);
        grows_with_flight(
            &FlowFacts::of(&upload.flow()).expect("payload"),
            10 * u64::from(MSS),
        )
    }

    #[test]
    fn the_last_segments_of_a_burst_wait_for_the_first_ones() {
        let mut upload = Script::open(End::First, 40 * MS, 20 * US, 10 * MSS as u16);
        for round in 0..40 {
            let (at_ns, first) = ((50 + round * 70) * MS, upload.sent());
            upload.at(at_ns).send(10, MSS, 10 * US);
            for number in 1..=10 {
                let acked_ns = at_ns + (40 + u64::from(number) * 3) * MS;
                upload.at(acked_ns).ack(first + number * MSS);
            }
        }
        assert!(!grows_with_flight(
            &FlowFacts::of(&upload.flow()).expect("payload"),
            10 * u64::from(MSS)
        ));
    }

    #[test]
    fn a_window_that_is_larger_than_the_path_forms_a_queue() {
        assert!(grows(16 * MS), "160 ms for a window");
        assert!(!grows(3 * MS), "30 of 40 ms");
    }

    /// A download in bursts of four segments after some 3 ms each over a path of 6 ms, captured at its receiver; the data echoes what was acknowledged
    /// `after_ms` before.
    fn waits(after_ms: u64) -> bool {
        let mut download = Script::open_with(End::Second, [6 * MS, MS / 50], 60_000, &stamps(1, 1));
        let (mut seq, data) = (1, Segment::ACK);
        for burst in 0..400 {
            let at_ns = (100 + 3 * burst) * MS + burst * 7 % 13 * MS / 10;
            for place in 0..4 {
                download.at(at_ns + place * 12_000);
                let options = stamps(at_ns - 3 * MS, at_ns - after_ms * MS);
                download.packet(End::Second, data, [seq, 1], MSS, &options);
                seq += MSS;
                download.after(1_000);
                let options = stamps(at_ns, at_ns - 3 * MS);
                download.packet(End::First, Segment::ACK, [1, seq], 0, &options);
            }
        }
        let flow = download.flow();
        waits_before_capture(&FlowFacts::of(&flow).expect("payload"), 6 * MS)
    }

    #[test]
    fn what_always_takes_far_longer_than_the_shortest_round_trip_has_waited() {
        assert!(!waits(8));
        assert!(waits(45));
    }
}
