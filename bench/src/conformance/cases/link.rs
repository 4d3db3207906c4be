//! The link.

use serde::Deserialize;

use super::{MAX_LEN, SHORT};
use crate::conformance::CaseFailure;
use crate::conformance::exchange::TestFrame;
use crate::conformance::rig::{Rig, ensure};

const ROUNDS: u64 = 3;

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Link {
    state: String,
}

pub(super) fn down_and_up(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    let mut frames = 0;
    let mut exchange = |rig: &mut Rig<'_>| {
        frames += rig.exchange((SHORT..=MAX_LEN).step_by(50).map(TestFrame::of))?;
        Ok::<_, CaseFailure>(())
    };
    exchange(rig)?;
    let [ups, downs] = [rig.sum_of(&["LinkUps"])?, rig.sum_of(&["LinkDowns"])?];
    for _ in 0..ROUNDS {
        for (is_up, expected) in [(false, "down"), (true, "up")] {
            rig.session.clear_console();
            rig.session.set_link(is_up)?;
            let link: Link = rig.session.read_event("link")?;
            ensure(link.state == expected, || {
                format!(
                    "the link went {expected}, and the device reports {}",
                    link.state
                )
            })?;
        }
        exchange(rig)?;
    }
    let counted = [
        rig.sum_of(&["LinkUps"])? - ups,
        rig.sum_of(&["LinkDowns"])? - downs,
    ];
    ensure(counted == [ROUNDS; 2], || {
        format!("the link went {ROUNDS} times; counted as up and down: {counted:?}")
    })?;
    Ok(frames)
}
