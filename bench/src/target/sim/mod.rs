//! The simulated board.

use super::{Order, Target, TargetError};

/// Switches a simulated board on.
///
/// # Errors
/// [`TargetError`] when the firmware or the board cannot be used.
pub fn open(order: &Order) -> Result<Box<dyn Target>, TargetError> {
    Err(TargetError::Board(format!(
        "board `{}` cannot be simulated yet",
        order.board.name
    )))
}

/// The same, with its cable in the TAP interface `interface`.
///
/// # Errors
/// [`TargetError`] when firmware, board or interface cannot be used.
pub fn open_on_tap(order: &Order, interface: &str) -> Result<Box<dyn Target>, TargetError> {
    let _station = crate::tap::Tap::open(interface)?;
    open(order)
}
