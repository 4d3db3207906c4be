//! What can stand behind a name: access, width, section, whose fields, and then a title.

use crate::text::{behind, bit, same, word};

/// What reading and writing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads back what was written.
    ReadWrite,
    /// Writing has no effect.
    ReadOnly,
    /// Reading tells nothing.
    WriteOnly,
    /// Ones that are written clear.
    WriteOneToClear,
    /// Reading clears.
    ReadToClear,
    /// Written to start something; the hardware clears it.
    SelfClearing,
    /// Reading does something: it takes a value out of a FIFO, or moves a pointer.
    ReadEffect,
}

impl Access {
    /// Each with its word in a map.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::ReadWrite, "rw"),
        (Self::ReadOnly, "ro"),
        (Self::WriteOnly, "wo"),
        (Self::WriteOneToClear, "w1c"),
        (Self::ReadToClear, "rc"),
        (Self::SelfClearing, "sc"),
        (Self::ReadEffect, "re"),
    ];

    /// Whether reading leaves everything as it is.
    pub const fn is_harmless_to_read(self) -> bool {
        !matches!(self, Self::ReadToClear | Self::ReadEffect)
    }

    /// The word for it in a map.
    pub const fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    const fn parse(word: &str) -> Option<Self> {
        let mut i = 0;
        while i < Self::ALL.len() {
            if same(word, Self::ALL[i].1) {
                return Some(Self::ALL[i].0);
            }
            i += 1;
        }
        None
    }
}

/// What a block says for its registers, and a register for its fields, where they say nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes<'a> {
    pub access: Access,
    /// Bits.
    pub width: u8,
    pub section: &'a str,
    /// The register whose fields are meant, or nothing.
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

    /// What `words` say; what they do not say is as in `self`, but for the title.
    pub const fn with(mut self, words: &'a str) -> Self {
        self.like = "";
        let mut rest = words;
        loop {
            let (word, behind_it) = word(rest);
            if let Some(access) = Access::parse(word) {
                self.access = access;
            } else if let Some(width) = behind(word, "/")
                && let Some(width) = bit(width)
            {
                self.width = width;
            } else if let Some(section) = behind(word, "@") {
                self.section = section;
            } else if let Some(like) = behind(word, "like=") {
                self.like = like;
            } else {
                self.title = if same(word, "-") { behind_it } else { rest };
                return self;
            }
            rest = behind_it;
        }
    }
}
