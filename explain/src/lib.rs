//! Result types, causes and the report. Pure: no sockets, no clock.
#![forbid(unsafe_code)]
