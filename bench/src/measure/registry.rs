//! The list of measurements.

/// Every measurement, one line each: its name in scenarios and results, and its [`Section`](super::Section) of a
/// `[[run]]`. `$with` is a macro that expands the list.
macro_rules! measurements {
    ($with:ident) => {
        $with! {
            ping: $crate::measure::ping::Plan,
            http_get: $crate::measure::http::Get,
            http_put: $crate::measure::http::Put,
            http_both: $crate::measure::http::Both,
            phy_conformance: $crate::measure::phy::Conformance,
            loss_surface: $crate::measure::phy::Surface,
            storm: $crate::measure::storm::Plan,
            hub_share: $crate::measure::hub_share::Plan,
            negotiation: $crate::measure::negotiation::Plan,
            udp_sweep: $crate::measure::udp_sweep::Plan,
        }
    };
}
pub(crate) use measurements;

macro_rules! names {
    ($($name:ident: $section:ty,)*) => {
        &[$(stringify!($name)),*]
    };
}

/// The names of the measurements.
pub const NAMES: &[&str] = measurements!(names);
