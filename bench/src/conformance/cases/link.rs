//! The link.

use serde::Deserialize;

use super::{LONGEST, SHORT};
use crate::conformance::Failed;
use crate::conformance::exchange::Order;
use crate::conformance::rig::{Rig, hold};

const ROUNDS: u64 = 3;

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Link {
    state: String,
}

pub(super) fn down_and_up(rig: &mut Rig<'_>) -> Result<u64, Failed> {
    let mut frames = 0;
    let mut exchange = |rig: &mut Rig<'_>| {
        frames += rig.exchange((SHORT..=LONGEST).step_by(50).map(Order::of))?;
        Ok::<_, Failed>(())
    };
    exchange(rig)?;
    let [ups, downs] = [rig.counted(&["LinkUps"])?, rig.counted(&["LinkDowns"])?];
    for _ in 0..ROUNDS {
        for (is_up, expected) in [(false, "down"), (true, "up")] {
            rig.session.forget();
            rig.session.set_link(is_up)?;
            let link: Link = rig.session.hear("link")?;
            hold(link.state == expected, || {
                format!(
                    "the link went {expected}, and the device says {}",
                    link.state
                )
            })?;
        }
        exchange(rig)?;
    }
    let counted = [
        rig.counted(&["LinkUps"])? - ups,
        rig.counted(&["LinkDowns"])? - downs,
    ];
    hold(counted == [ROUNDS; 2], || {
        format!("the link went {ROUNDS} times; counted as up and down: {counted:?}")
    })?;
    Ok(frames)
}
