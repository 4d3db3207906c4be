//! Stock clients on the left, our servers on the right: TCP.

use super::each;
use super::record::Lane;
use super::serve::run_at;
use super::tool_output::{end_of, number};
use linerate_host::relay::Direction;
use linerate_host::serve::{Protocol, ServedTransfer, TransferDirection};

pub const TCP_FAULTS: &str =
    "loss=1%,reorder=1%/3,duplicate=1%,corrupt=1e-6,delay=500us,jitter=200us";

/// The last ones with packets of at most 101 octets: messages arrive in fragments.
#[test]
fn tcp_of_iperf_2_arrives_whole_through_all_of_it() {
    let trials = [
        ("-n 300000", 1, 300_000, 0, None),
        ("-n 300000 -l 64", 1, 300_000, 0, None),
        ("-n 100000 -P 3", 3, 300_000, 0, None),
        ("-n 300000 -R -l 1470", 1, 0, 300_000, None),
        ("-n 200000 -r", 2, 200_000, 200_000, None),
        ("-n 200000 -d", 2, 200_000, 200_000, None),
        ("-n 30000 -l 63", 1, 30_000, 0, Some(101)),
        ("-n 30000 -R", 1, 0, 30_000, Some(101)),
        ("-n 30000 -d", 2, 30_000, 30_000, Some(101)),
    ];
    each(&trials, |&(flags, tests, received, sent, mtu)| {
        let line = format!("iperf -c 10.0.0.2 {flags}");
        let Some(it) = run_at(mtu, TCP_FAULTS, Protocol::Iperf2, tests, &line) else {
            return;
        };
        let both = [TransferDirection::Received, TransferDirection::Sent]
            .map(|way| length(&it.served(way)));
        assert_eq!(both, [received, sent], "{flags}: {}", it.text);
        // On a connection back the client has the port that it names in -L, 5001.
        let forward = it.record.tcp(Direction::Forward).into_iter();
        let forward = forward.filter(|it| it.to == 5001 && received > 0);
        let backward = it.record.tcp(Direction::Backward).into_iter();
        let on_theirs = flags.contains("-R");
        let backward = backward.filter(|it| (it.from == 5001) == on_theirs && sent > 0);
        let sum = |of: &mut dyn Iterator<Item = Lane>| of.map(|it| it.octets).sum::<u64>();
        let passed = [sum(&mut { forward }), sum(&mut { backward })];
        assert_eq!(passed, [received, sent], "{flags}");
    });
}

/// Octets of all of them.
fn length(served: &[ServedTransfer]) -> u64 {
    served.iter().map(|it| it.octets).sum()
}

#[test]
fn tcp_of_iperf_3_arrives_whole_through_all_of_it() {
    let trials = [
        ("-n 300000", 1, None),
        ("-n 300000 -P 3", 1, None),
        ("-n 100000 -l 64", 1, None),
        ("-n 300000 -R -l 1470", 1, None),
        ("-n 200000 --bidir", 2, None),
        ("-n 30000 -l 63", 1, Some(101)),
        ("-n 30000 -R", 1, Some(101)),
    ];
    each(&trials, |&(flags, tests, mtu)| {
        let line = format!("iperf3 -c 10.0.0.2 -J {flags}");
        let Some(it) = run_at(mtu, TCP_FAULTS, Protocol::Iperf3, tests, &line) else {
            return;
        };
        let (end, back) = (end_of(&it.text), flags.contains("-R"));
        let (first, second) = if back {
            (TransferDirection::Sent, TransferDirection::Received)
        } else {
            (TransferDirection::Received, TransferDirection::Sent)
        };
        let (first, second) = (length(&it.served(first)), length(&it.served(second)));
        assert_eq!(number(&end["sum_received"], "bytes"), first, "{flags}");
        let reverse = end["sum_received_bidir_reverse"]["bytes"].as_u64();
        assert_eq!(reverse.unwrap_or(0), second, "{flags}");
        if !back {
            // The first connection is for control; each of the others begins with a cookie of 37 octets.
            let data = it.record.tcp(Direction::Forward).into_iter().skip(1);
            let passed: u64 = data.map(|it| it.octets - 37).sum();
            assert_eq!(passed, first, "{flags}");
        }
    });
}
