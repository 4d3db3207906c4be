//! Processor cycles by call stack.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cycles by call stack, from the peer's first frame to the program's end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// Frequency of the processor, hertz.
    pub cycles_per_s: u64,
    /// Frames that the device's stack accepted in that time.
    pub frames: u64,
    /// Names of the functions in the stacks. Inlined code counts for the function
    /// that it was inlined into.
    pub functions: Vec<String>,
    /// Every stack in which time was spent.
    pub stacks: Vec<ProfileStack>,
}

/// A call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileStack {
    /// True if an interrupt or exception started it.
    pub interrupt: bool,
    /// Indices into `functions`, the outermost first.
    pub path: Vec<u32>,
    /// CPU cycles in the innermost function itself.
    pub cycles: u64,
    /// Number of calls of that function with this stack.
    pub calls: u64,
}
