use super::super::scripted::{Scripted, counted, done};
use super::*;
use crate::endpoint::Outcome;
use linerate_results::record::DeviceCounters;

/// A device that receives up to 6 Mbit/s, and only 2 if more than 8 are offered.
const fn livelocked(offered: u64) -> u64 {
    match offered {
        0..=6_000_000 => offered,
        6_000_001..=8_000_000 => 6_000_000,
        _ => 2_000_000,
    }
}

fn outcome(trial: &Trial) -> Outcome {
    let Trial::Datagrams(asked) = trial else {
        panic!("a load sweep asks for datagrams only, not {trial:?}")
    };
    let flow = counted(asked, livelocked(asked.payload_bits_per_s));
    match asked.direction {
        Direction::FromDevice => Outcome {
            from_device: Some(flow),
            ..Outcome::default()
        },
        _ => Outcome {
            to_device: Some(flow),
            ..Outcome::default()
        },
    }
}

fn sweep(offers: OfferedLoads) -> UdpSweep {
    UdpSweep {
        directions: vec![Direction::ToDevice],
        offers,
        span: Duration::from_secs(2),
        payload_octets: 1_000,
        settle: Duration::from_secs(1),
        counters: None,
    }
}

/// Offered and received, Mbit/s; `None`: no report.
fn points(kept: &[Measurement]) -> Vec<(f64, Option<f64>)> {
    let point = |result: &Measurement| {
        let Measurement::UdpSweep(it) = result else {
            panic!("{result:?}")
        };
        let rate = it.metrics.received_bytes_per_s * 8.0 / 1e6;
        let received = it.metrics.flow.is_some().then_some(rate);
        (it.params.offered_bytes_per_s * 8.0 / 1e6, received)
    };
    kept.iter().map(point).collect()
}

#[test]
fn every_load_of_a_list_is_a_result_each_way() {
    let sweep = UdpSweep {
        directions: vec![Direction::ToDevice, Direction::FromDevice],
        ..sweep(OfferedLoads::Listed(vec![4_000_000, 10_000_000]))
    };
    let (outcome, kept, notes) = done(&sweep, &mut Scripted::new(|trial| Ok(outcome(trial))));
    assert!(outcome.is_ok() && notes.is_empty(), "{notes:?}");
    let expected = [(4.0, Some(4.0)), (10.0, Some(2.0))];
    assert_eq!(points(&kept), [expected, expected].concat());
}

#[test]
fn a_search_finds_the_knee_and_what_is_beyond() {
    let sweep = sweep(OfferedLoads::Searched { from: 500_000 });
    let (outcome, kept, _) = done(&sweep, &mut Scripted::new(|trial| Ok(outcome(trial))));
    assert!(outcome.is_ok());
    let offers: Vec<f64> = points(&kept).iter().map(|point| point.0).collect();
    // Doubled until 8 brought the most and three more brought no more, then between 4 and 16.
    assert_eq!(offers[..8], [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    assert_eq!(
        offers[8..],
        [5.2, 6.4, 7.6, 8.8, 10.0, 11.2, 12.4, 13.6, 14.8]
    );
}

#[test]
fn a_load_that_silences_the_receiver_is_a_result_and_two_in_a_row_end_it() {
    let sweep = sweep(OfferedLoads::Listed(vec![
        1_000_000, 7_000_000, 2_000_000, 8_000_000, 9_000_000, 10_000_000,
    ]));
    let mut target = Scripted::new(|trial| match trial {
        Trial::Datagrams(asked) if asked.payload_bits_per_s > 6_000_000 => Err("no report"),
        _ => Ok(outcome(trial)),
    });
    let (outcome, kept, notes) = done(&sweep, &mut target);
    assert!(outcome.is_ok());
    let reported: Vec<bool> = points(&kept)
        .iter()
        .map(|point| point.1.is_some())
        .collect();
    assert_eq!(reported, [true, false, true, false, false]);
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn a_target_that_is_not_there_is_no_result() {
    let sweep = sweep(OfferedLoads::Listed(vec![1_000_000, 2_000_000]));
    let (outcome, kept, _) = done(&sweep, &mut Scripted::new(|_| Err("nobody listens there")));
    let error = outcome.expect_err("nobody is there").to_string();
    assert_eq!(error, "a scripted target: nobody listens there");
    assert!(kept.is_empty());
}

#[test]
#[cfg(unix)]
fn a_load_has_the_changes_of_the_device_s_counters_or_the_reason_why_not() {
    let sweep = |command: &str| UdpSweep {
        counters: Some(CountersCommand(command.to_owned())),
        ..sweep(OfferedLoads::Listed(vec![4_000_000]))
    };
    let point = |sweep: &UdpSweep| {
        let (_, kept, _) = done(sweep, &mut Scripted::new(|trial| Ok(outcome(trial))));
        match &kept[0] {
            Measurement::UdpSweep(it) => it.clone(),
            other => panic!("{other:?}"),
        }
    };
    let read = point(&sweep("echo ' IEEE_tx_fdxfc: 70'"));
    assert_eq!(read.metrics.device_counters.tx_pause_frames, Some(0));
    let failed = point(&sweep("exit 1"));
    assert!(failed.metrics.device_counters.is_empty());
    assert_eq!(failed.params.setting.notes.len(), 1);
}

#[test]
fn a_load_has_the_counters_of_the_target_itself() {
    let counters = DeviceCounters {
        rx_fifo_overruns: Some(3),
        ..DeviceCounters::default()
    };
    let sweep = sweep(OfferedLoads::Listed(vec![4_000_000]));
    let counted = |trial: &Trial| Outcome {
        device_counters: counters,
        ..outcome(trial)
    };
    let (_, kept, _) = done(&sweep, &mut Scripted::new(|trial| Ok(counted(trial))));
    let Measurement::UdpSweep(it) = &kept[0] else {
        panic!("{kept:?}")
    };
    assert_eq!(it.metrics.device_counters, counters);
}
