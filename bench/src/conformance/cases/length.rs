//! Frame lengths.

use linerate_agent::frame::{Fill, TEST_HEADER_LEN};
use linerate_sim::peer::generator::DEVICE;

use super::{MAX_LEN, MAX_TAGGED_LEN, SHORT};
use crate::conformance::CaseFailure;
use crate::conformance::exchange::TestFrame;
use crate::conformance::rig::{Rig, ensure};

/// The shortest valid frame.
const MIN_LEN: usize = 60;
/// Longer than any valid frame, with a tag or without; and the driver's counter of them.
const OVER_LONG: [usize; 3] = [MAX_TAGGED_LEN + 1, 1_600, 1_900];
const REFUSED: &[&str] = &["RxOversize"];
const RUNTS: &[&str] = &["RxRunts", "RxFragments"];

pub(super) fn all(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    rig.exchange(
        (SHORT..=MAX_LEN)
            .chain((SHORT..=MAX_LEN).rev())
            .map(TestFrame::of),
    )
}

pub(super) fn shortest(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    rig.exchange((MIN_LEN..SHORT).cycle().take(200).map(TestFrame::of))
}

/// On a network without a line's limits they arrive unchanged, or padded with zeros; on a line they are
/// rejected.
pub(super) fn runts(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    let zeros = |octets| TestFrame {
        fill: Fill::Octet(0),
        ..TestFrame::one_way(octets, DEVICE)
    };
    rig.reset_counts()?;
    let before = rig.sum_of(RUNTS)?;
    let runts = MIN_LEN - TEST_HEADER_LEN;
    let with_others =
        (TEST_HEADER_LEN..MIN_LEN).flat_map(move |it| [zeros(it), TestFrame::of(SHORT)]);
    let sent = rig.exchange_by(1, with_others)?;
    let counts = rig.frame_counts()?;
    let refused = rig.sum_of(RUNTS)? - before;
    let known = counts.frames + refused;
    ensure(counts.altered == 0 && known == sent, || {
        format!(
            "of {runts} frames and as many longer ones {counts:?} were taken, {refused} counted as runts"
        )
    })?;
    Ok(sent)
}

pub(super) fn tagged(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    rig.exchange((SHORT + 4..=MAX_TAGGED_LEN).map(|octets| TestFrame {
        is_tagged: true,
        ..TestFrame::of(octets)
    }))
}

pub(super) fn over_long(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    rig.reset_counts()?;
    let before = rig.sum_of(REFUSED)?;
    let mixed = |octets| [TestFrame::one_way(octets, DEVICE), TestFrame::of(MAX_LEN)];
    let sent = rig.exchange_by(1, OVER_LONG.into_iter().flat_map(mixed))?;
    let (counts, refused) = (rig.frame_counts()?, rig.sum_of(REFUSED)? - before);
    let over_long = OVER_LONG.len() as u64;
    let others = sent - over_long;
    ensure(
        (counts.frames, counts.altered, refused) == (others, 0, over_long),
        || {
            format!(
                "{over_long} over-long frames among {others}: taken {counts:?}, {refused} counted"
            )
        },
    )?;
    Ok(sent + rig.exchange((SHORT..=MAX_LEN).step_by(10).map(TestFrame::of))?)
}
