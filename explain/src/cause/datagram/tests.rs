//! Each rule on synthetic packets, one that it must name and one that is healthy.

mod capture;
mod checksums;
mod dialogues;
mod hosts;
mod identified;
mod names;
mod streams;
mod timers;
