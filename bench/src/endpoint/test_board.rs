//! A board that conformance cases can run on.

use std::collections::BTreeMap;

use super::board::session::BoardSession;
use super::error::TargetError;

/// Switches on the board.
pub(crate) type SwitchOn<'a> = Box<dyn Fn() -> Result<BoardSession, TargetError> + 'a>;

/// A board that can be switched on to test its driver.
pub struct TestBoard<'a> {
    /// Cases that the board cannot pass, by name, with the reason.
    pub(crate) unsupported_cases: &'a BTreeMap<String, String>,
    /// Switches it on.
    pub(crate) switch_on: SwitchOn<'a>,
}

impl<'a> TestBoard<'a> {
    /// A board that cannot pass the cases in `unsupported_cases`.
    pub(crate) fn new(
        unsupported_cases: &'a BTreeMap<String, String>,
        switch_on: SwitchOn<'a>,
    ) -> Self {
        Self {
            unsupported_cases,
            switch_on,
        }
    }
}
