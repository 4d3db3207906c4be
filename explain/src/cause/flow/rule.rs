//! The result of a rule.

use std::collections::BTreeMap;

use linerate_capture::model::Limit;
use linerate_results::record::Cause;

/// A cause that a rule found in one connection.
pub(in crate::cause::flow) struct Rule {
    /// Share of the active time that it explains, 0 to 1.
    pub(in crate::cause::flow) share: f64,
    pub(in crate::cause::flow) cause: Cause,
    pub(in crate::cause::flow) confidence: f64,
    pub(in crate::cause::flow) summary: String,
    pub(in crate::cause::flow) evidence: BTreeMap<String, f64>,
    pub(in crate::cause::flow) advice: String,
    /// The time that it explains; a time has one cause.
    pub(in crate::cause::flow) limits: &'static [Limit],
    /// True if the time without it can be estimated.
    pub(in crate::cause::flow) has_gain: bool,
}
