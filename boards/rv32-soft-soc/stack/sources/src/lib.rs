//! Empty: the dependencies carry the sources.
