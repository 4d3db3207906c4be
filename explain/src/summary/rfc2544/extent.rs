//! Which variant ran, and in what it departs from the RFC.

use crate::series::rfc2544::Sizes;
use linerate_results::format;
use linerate_results::record::{Counting, Extent, Rfc2544, Rfc2544Test};

/// Lengths and repetitions of `trials`, beside the standard's.
struct Lengths<'a> {
    trials: Vec<&'a Rfc2544>,
}

impl Lengths<'_> {
    fn of(&self, test: Rfc2544Test) -> impl Iterator<Item = &&Rfc2544> {
        self.trials.iter().filter(move |it| it.params.test == test)
    }

    /// How long trials of `test` are at least, to a tenth of a second.
    fn span(&self, test: Rfc2544Test) -> Option<String> {
        let spans = self.of(test).map(|it| it.span_ns());
        let tenths = (spans.min()? as f64 / 1e8).round() as u64;
        Some(format::time(tenths * 100_000_000))
    }

    fn repetitions(&self, test: Rfc2544Test) -> u64 {
        let all = self.of(test).map(|it| it.params.repetitions);
        all.max().unwrap_or(0)
    }

    fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        for test in [Rfc2544Test::Throughput, Rfc2544Test::FrameLoss] {
            if let Some(span) = self.span(test) {
                parts.push(format!("{} in trials of {span} (60 s)", test.words()));
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
            Some(0) | None => {
                "no pause behind a trial (7 s), as the device is simulated".to_owned()
            }
            Some(pause) => format!("a pause of {} behind each (7 s)", format::time(pause)),
        });
        parts
    }
}

/// In a few sentences.
pub(super) fn words(counting: Counting, sizes: &Sizes<'_>) -> String {
    let trials = sizes.values().flat_map(|tests| tests.values().flatten());
    let lengths = Lengths {
        trials: trials.copied().collect(),
    };
    let extent = lengths.trials.iter().map(|it| it.params.extent);
    let name = if extent.clone().any(|it| it == Extent::Short) {
        "Short variant, with RFC 2544's own figures in brackets"
    } else {
        "Full variant, with RFC 2544's own figures in brackets"
    };
    let how = match counting {
        Counting::Agent => {
            "frames go to the device, whose agent counts them: it need not send, and latency is not \
             measured so"
        }
        Counting::Reflector => {
            "the device sends each frame back, so that its sending and the way back are part of it. \
             Latency is store and forward (RFC 1242): the round trip of the first frame of the \
             stream's second half, less the frame's own time on the line, there and back"
        }
        Counting::Datagrams => {
            "UDP datagrams over IPv4 as long as fill the frames are counted by the device's server, \
             so that its IP stack is part of it, and bursts are as dense as this machine's system \
             sends them"
        }
    };
    format!(
        "{name}: {}. RFC 2544 is for a device that forwards; here an end station receives: {how}. \
         Neither routing updates nor learning frames are sent.",
        lengths.parts().join(", ")
    )
}
