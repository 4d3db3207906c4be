//! Attributes after a name: access, width, section, model register, followed by a title.

use crate::text::{decimal, equal, strip_prefix, word};

/// Effect of reading and writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads return the written value.
    ReadWrite,
    /// Writes have no effect.
    ReadOnly,
    /// Reads return no useful value.
    WriteOnly,
    /// Writing ones clears these bits.
    WriteOneToClear,
    /// Reading clears.
    ReadToClear,
    /// Set by a write to start an action; cleared by the hardware.
    SelfClearing,
    /// Reads have a side effect: they remove a value from a FIFO, or advance a pointer.
    ReadEffect,
}

impl Access {
    /// All variants with their words in a map.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::ReadWrite, "rw"),
        (Self::ReadOnly, "ro"),
        (Self::WriteOnly, "wo"),
        (Self::WriteOneToClear, "w1c"),
        (Self::ReadToClear, "rc"),
        (Self::SelfClearing, "sc"),
        (Self::ReadEffect, "re"),
    ];

    /// True if reading has no side effect.
    pub const fn is_harmless_to_read(self) -> bool {
        !matches!(self, Self::ReadToClear | Self::ReadEffect)
    }

    /// The word for the variant in a map.
    pub const fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    const fn parse(word: &str) -> Option<Self> {
        let mut i = 0;
        while i < Self::ALL.len() {
            if equal(word, Self::ALL[i].1) {
                return Some(Self::ALL[i].0);
            }
            i += 1;
        }
        None
    }
}

/// Attributes that registers inherit from their block, and fields from their register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes<'a> {
    pub access: Access,
    /// Bits.
    pub width: u8,
    pub section: &'a str,
    /// The register whose fields are used, or empty.
    pub like: &'a str,
    pub title: &'a str,
}

impl<'a> Attributes<'a> {
    pub const DEFAULT: Self = Self {
        access: Access::ReadWrite,
        width: 32,
        section: "",
        like: "",
        title: "",
    };

    /// These attributes overridden by those in `words`, except for the title, which is not
    /// inherited.
    pub const fn overridden_by(mut self, words: &'a str) -> Self {
        self.like = "";
        let mut rest = words;
        loop {
            let (word, remainder) = word(rest);
            if let Some(access) = Access::parse(word) {
                self.access = access;
            } else if let Some(width) = strip_prefix(word, "/")
                && let Some(width) = decimal(width)
            {
                self.width = width;
            } else if let Some(section) = strip_prefix(word, "@") {
                self.section = section;
            } else if let Some(like) = strip_prefix(word, "like=") {
                self.like = like;
            } else {
                self.title = if equal(word, "-") { remainder } else { rest };
                return self;
            }
            rest = remainder;
        }
    }
}
