//! The labels of published captures name causes that exist.

use linerate_results::record::Cause;
use xtask::captures::{Part, labels};

#[test]
fn every_label_is_a_cause_or_control_or_unknown() {
    for part in Part::ALL {
        for package in labels(part).expect("a list").package {
            for capture in package.capture {
                let alone = ["control", "unknown"].map(|it| vec![it.to_owned()]);
                if alone.contains(&capture.expected) {
                    continue;
                }
                for name in capture.expected {
                    let cause = serde_json::from_value::<Cause>(name.clone().into());
                    assert!(cause.is_ok(), "{}: {name} is no cause", capture.path);
                }
            }
        }
    }
}
