//! URLs, unsupported trials, and frames over a veth pair: as root.

#[cfg(target_os = "linux")]
mod unsupported;
#[cfg(target_os = "linux")]
mod wire;

use super::super::{Options, TargetError, open};

#[test]
fn a_url_that_names_no_station_is_explained() {
    for (url, part) in [
        ("raw://eth0", "MAC address is missing, as in raw://eth0/02:"),
        ("raw://eth0/", "MAC address is missing"),
        ("raw://eth0/02:00:00:00:00", "is no MAC address"),
        ("raw://eth0/02:00:00:00:00:01:02", "is no MAC address"),
        ("raw://eth0/02:00:00:00:00:0g", "is no MAC address"),
        ("raw://eth0/02:00:00:00:00:+1", "is no MAC address"),
        ("raw://eth0/02:00:00:00:00:01/x", "is no MAC address"),
        ("raw://eth0/ff:ff:ff:ff:ff:ff", "group address"),
        ("raw://eth0/01:00:5e:00:00:01", "group address"),
        ("raw://eth0/00:00:00:00:00:00", "no valid address"),
        ("raw://eth0:7/02:00:00:00:00:01", "no port"),
        ("raw:///02:00:00:00:00:01", "the host is missing"),
        ("raw://eth0/02:00:00:00:00:01?x", "nothing may follow"),
    ] {
        let error = match open(url, &Options::default()) {
            Ok(target) => panic!("{url}: {}", target.name()),
            Err(error) => error,
        };
        assert!(matches!(error, TargetError::Url { .. }), "{url}: {error:?}");
        assert!(error.to_string().contains(part), "{url}: {error}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_trial_has_a_longest_time() {
    use super::super::{Frames, Trial};

    let url = "raw://lr-none0/02:00:00:00:00:01";
    let target = open(url, &Options::default()).expect("a target");
    let seconds = |count, interval_ns| {
        let frames = Frames {
            octets: 1518,
            count,
            interval_ns,
            reflected: true,
        };
        let longest = target.deadline(&Trial::Frames(frames));
        longest.expect("bounded").as_secs()
    };
    // Two timeouts of 10 s, three seconds for the last answers of both exchanges (one second before quiet polls were counted:
    // 22 s in all), and the frames twice: at the rate of the slowest line, or at the requested interval.
    assert_eq!(seconds(1, 0.0), 26);
    assert_eq!(seconds(10_000, 0.0), 26 + 24);
    assert_eq!(seconds(10, 1e9), 26 + 20);
}
