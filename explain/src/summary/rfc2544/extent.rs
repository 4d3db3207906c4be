//! The variant of the procedure, and its deviations from the RFC.

use crate::series::rfc2544::TrialsBySize;
use linerate_results::format;
use linerate_results::record::{Counting, Extent, Rfc2544, Rfc2544Test};

/// Durations and repetitions of `trials`, with the standard's in brackets.
struct Lengths<'a> {
    trials: Vec<&'a Rfc2544>,
}

impl Lengths<'_> {
    fn of_test(&self, test: Rfc2544Test) -> impl Iterator<Item = &&Rfc2544> {
        self.trials.iter().filter(move |it| it.params.test == test)
    }

    /// The shortest duration of a trial of `test`, to a tenth of a second.
    fn span(&self, test: Rfc2544Test) -> Option<String> {
        let spans = self.of_test(test).map(|it| it.span_ns());
        let tenths = (spans.min()? as f64 / 1e8).round() as u64;
        Some(format::time(tenths * 100_000_000))
    }

    fn repetitions(&self, test: Rfc2544Test) -> u64 {
        let all = self.of_test(test).map(|it| it.params.repetitions);
        all.max().unwrap_or(0)
    }

    fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        for test in [Rfc2544Test::Throughput, Rfc2544Test::FrameLoss] {
            if let Some(span) = self.span(test) {
                parts.push(format!("{} in trials of {span} (60 s)", test.label()));
            }
        }
        if let Some(span) = self.span(Rfc2544Test::Latency) {
            let times = self.repetitions(Rfc2544Test::Latency);
            parts.push(format!(
                "latency {times} times (20) in streams of {span} (120 s)"
            ));
        }
        let bursts = self.repetitions(Rfc2544Test::BackToBack);
        if bursts > 0 {
            parts.push(format!("bursts {bursts} times (50)"));
        }
        let pause = self.trials.iter().map(|it| it.params.pause_ns).min();
        parts.push(match pause {
            Some(0) | None => "no pause after a trial (7 s), as the device is simulated".to_owned(),
            Some(pause) => format!("a pause of {} after each (7 s)", format::time(pause)),
        });
        parts
    }
}

/// The variant, in a few sentences.
pub(super) fn describe(counting: Counting, sizes: &TrialsBySize<'_>) -> String {
    let trials = sizes.values().flat_map(|tests| tests.values().flatten());
    let lengths = Lengths {
        trials: trials.copied().collect(),
    };
    let extent = lengths.trials.iter().map(|it| it.params.extent);
    let name = if extent.clone().any(|it| it == Extent::Short) {
        "Short variant, with the figures of RFC 2544 in brackets"
    } else {
        "Full variant, with the figures of RFC 2544 in brackets"
    };
    let how = match counting {
        Counting::Agent => {
            "the agent on the device counts the frames: the device need not send, and latency is not \
             measured"
        }
        Counting::Reflector => {
            "the device reflects each frame, so that its transmission and the return path are included. \
             Latency is store and forward (RFC 1242): the round trip of the first frame of the \
             stream's second half, minus the frame's time on the line in both directions"
        }
        Counting::Datagrams => {
            "the device's server counts UDP datagrams over IPv4 that fill the frames, so that its IP stack is \
             included, and bursts are as dense as this machine's operating system sends \
             them"
        }
    };
    format!(
        "{name}: {}. RFC 2544 tests forwarding devices; here an end station receives: {how}. \
         Neither routing updates nor learning frames are sent.",
        lengths.parts().join(", ")
    )
}
