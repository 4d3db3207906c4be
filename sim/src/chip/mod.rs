//! Chips: a hart, memory, and the devices around them at their addresses.
