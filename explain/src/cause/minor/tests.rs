//! Causes that take little of the time, in a report.

use super::*;
use crate::cause::synthetic::path_finding;

const HOSTS: Option<[&str; 2]> = Some(["192.0.2.1", "192.0.2.2"]);
const OTHERS: Option<[&str; 2]> = Some(["192.0.2.3", "192.0.2.4"]);

/// The causes that stay, and those that are minor.
fn parted(mut found: Vec<PathFinding>) -> [Vec<Cause>; 2] {
    let minor = take_minor(&mut found);
    [found, minor].map(|found| found.iter().map(|it| it.finding.cause).collect())
}

#[test]
fn a_cause_of_less_than_a_twentieth_of_the_time_is_minor() {
    let share = |share| parted(vec![path_finding(Cause::SenderIdle, HOSTS, share)]);
    assert_eq!(share(0.05), [vec![Cause::SenderIdle], vec![]]);
    assert_eq!(share(0.049), [vec![], vec![Cause::SenderIdle]]);
}

#[test]
fn a_cause_that_takes_a_twentieth_in_several_places_stays_in_all_of_them() {
    let found = |other| {
        parted(vec![
            path_finding(Cause::ReceiveWindow, HOSTS, 0.03),
            path_finding(other, OTHERS, 0.025),
        ])
    };
    let twice = vec![Cause::ReceiveWindow; 2];
    assert_eq!(found(Cause::ReceiveWindow), [twice, vec![]]);
    let different = vec![Cause::ReceiveWindow, Cause::SenderIdle];
    assert_eq!(found(Cause::SenderIdle), [vec![], different]);
}

#[test]
fn what_is_not_measured_in_time_is_not_minor() {
    let all = [
        Cause::Refused,
        Cause::AtLineRate,
        Cause::PathRate,
        Cause::DuplicateFrames,
        Cause::ChecksumErrors,
        Cause::Reordering,
        Cause::AbovePathRate,
        Cause::BroadcastStorm,
        Cause::RandomLoss,
        Cause::LossInBursts,
    ];
    for cause in all {
        let found = parted(vec![path_finding(cause, HOSTS, 0.01)]);
        assert_eq!(found, [vec![cause], vec![]]);
    }
    let unknown = parted(vec![path_finding(Cause::SenderIdle, HOSTS, 0.0)]);
    assert_eq!(unknown, [vec![Cause::SenderIdle], vec![]]);
}

#[test]
fn losses_of_a_connection_take_time_and_those_of_datagrams_do_not() {
    let mut of_connection = path_finding(Cause::RandomLoss, HOSTS, 0.01);
    let evidence = &mut of_connection.finding.evidence;
    evidence.insert("connection_packet".to_owned(), 1.0);
    assert_eq!(
        parted(vec![of_connection]),
        [vec![], vec![Cause::RandomLoss]]
    );
    let of_datagrams = path_finding(Cause::RandomLoss, HOSTS, 0.01);
    assert_eq!(
        parted(vec![of_datagrams]),
        [vec![Cause::RandomLoss], vec![]]
    );
}

#[test]
fn an_alternative_goes_with_its_reason() {
    let found = |share| {
        let alternative = PathFinding {
            alternative_to: Some(Cause::ReceiveWindow),
            ..path_finding(Cause::SendBuffer, HOSTS, share)
        };
        let reason = path_finding(Cause::ReceiveWindow, HOSTS, share);
        // Another path lets the reason matter.
        let other = path_finding(Cause::ReceiveWindow, OTHERS, 0.03);
        parted(vec![reason, alternative, other])
    };
    let all = vec![
        Cause::ReceiveWindow,
        Cause::SendBuffer,
        Cause::ReceiveWindow,
    ];
    assert_eq!(found(0.03), [all.clone(), vec![]]);
    assert_eq!(found(0.01), [vec![], all]);
}
