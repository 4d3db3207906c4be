//! Whole boards with small programs.
