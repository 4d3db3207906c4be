//! The order of findings: what to look at first.

use super::{Cause, sort_by_cost};
use crate::cause::synthetic::path_finding;

const HOSTS: Option<[&str; 2]> = Some(["192.0.2.1", "192.0.2.2"]);
const BACK: Option<[&str; 2]> = Some(["192.0.2.2", "192.0.2.1"]);
const OTHERS: Option<[&str; 2]> = Some(["192.0.2.3", "192.0.2.4"]);

/// The causes in their order, beside a transfer from one host to another that takes the path for 90% of the time.
fn beside_full_path(cause: Cause, hosts: Option<[&str; 2]>, share: f64) -> Vec<Cause> {
    let mut found = vec![
        path_finding(cause, hosts, share),
        path_finding(Cause::PathRate, HOSTS, 0.9),
    ];
    sort_by_cost(&mut found);
    found.iter().map(|it| it.finding.cause).collect()
}

#[test]
fn the_limit_of_the_main_transfer_comes_before_a_smaller_fault_between_other_hosts() {
    let found = beside_full_path(Cause::NameResolution, OTHERS, 0.1);
    assert_eq!(found, [Cause::PathRate, Cause::NameResolution]);
    let larger = beside_full_path(Cause::ReceiveWindow, OTHERS, 0.95);
    assert_eq!(larger, [Cause::ReceiveWindow, Cause::PathRate]);
}

#[test]
fn a_fault_between_the_same_hosts_comes_before_their_limit() {
    for hosts in [HOSTS, BACK] {
        let found = beside_full_path(Cause::SenderIdle, hosts, 0.1);
        assert_eq!(found, [Cause::SenderIdle, Cause::PathRate]);
    }
}

#[test]
fn what_concerns_no_hosts_in_particular_concerns_all() {
    for cause in [Cause::BroadcastStorm, Cause::Paused] {
        assert_eq!(beside_full_path(cause, None, 0.1), [cause, Cause::PathRate]);
    }
}

#[test]
fn what_costs_a_host_most_of_the_time_comes_before_the_limit_of_what_it_transfers() {
    let names = Some(["192.0.2.53", "192.0.2.2"]);
    let order = |hosts, share| beside_full_path(Cause::NameResolution, hosts, share);
    let [fault, limit] = [Cause::NameResolution, Cause::PathRate];
    assert_eq!(order(names, 0.6), [fault, limit]);
    assert_eq!(order(names, 0.3), [limit, fault]);
    assert_eq!(order(OTHERS, 0.6), [limit, fault]);
}

#[test]
fn a_storm_of_most_packets_comes_before_what_a_station_shows_of_it() {
    let order = |broadcasts: f64| {
        let mut storm = path_finding(Cause::BroadcastStorm, None, 0.0);
        let figures = [("broadcasts", broadcasts), ("packets", 20_000.0)];
        let named = figures.map(|(name, figure)| (name.to_owned(), figure));
        storm.finding.evidence.extend(named);
        let mut found = vec![path_finding(Cause::ReceiveWindow, HOSTS, 0.9), storm];
        sort_by_cost(&mut found);
        found[0].finding.cause
    };
    assert_eq!(order(15_000.0), Cause::BroadcastStorm);
    assert_eq!(order(5_000.0), Cause::ReceiveWindow);
}
