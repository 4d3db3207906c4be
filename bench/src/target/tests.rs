//! Targets by their URLs.

mod ours;
mod stock;

use super::*;

#[test]
fn an_unknown_kind_names_the_known_ones() {
    let error = |url: &str| match open(url, &Options::default()) {
        Ok(target) => panic!("{url}: {}", target.name()),
        Err(error) => error.to_string(),
    };
    let text = error("iper2://127.0.0.1");
    assert!(
        text.contains("iperf2://, iperf3://") && text.contains("is iperf2:// meant?"),
        "{text}"
    );
    assert!(error("http://127.0.0.1:x/").contains("1 to 65535"));
    assert!(error("iperf2://127.0.0.1?from=x").contains("reverse"));
    assert!(error("stamp://127.0.0.1?x").contains("nothing may follow"));
}

#[test]
fn every_kind_s_example_is_one_and_says_what_it_cannot_do() {
    for kind in KINDS {
        assert!(kind.example.starts_with(&format!("{}://", kind.scheme)));
        if kind.scheme == "raw" && cfg!(not(target_os = "linux")) {
            continue;
        }
        let target = open(kind.example, &Options::default()).expect(kind.example);
        let frames = Trial::Frames(Frames {
            octets: 64,
            count: 1,
            interval_ns: 0.0,
            reflected: false,
        });
        if let Err(why) = target.can(&frames) {
            assert!(!why.is_empty());
        }
    }
}
