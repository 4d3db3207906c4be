//! The blocks of a map, and lookup by address.

use crate::attributes::Attributes;
use crate::register::{Field, Register, Value};
use crate::text::{equal, hex, line, split_before, strip_prefix, word};

/// All register blocks of a chip: text in the format described in the [crate] documentation.
#[derive(Clone, Copy, Debug)]
pub struct Map<'a>(pub &'a str);

/// The registers of one peripheral.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Name of the peripheral as in the reference manual.
    pub name: &'a str,
    /// Address of offset 0; `None` if it depends on the board, or if the registers are not
    /// memory-mapped but accessed through others.
    pub base: Option<u32>,
    /// Description, and how to access it, or empty.
    pub title: &'a str,
    attributes: Attributes<'a>,
    lines: &'a str,
}

/// The register at an address.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The peripheral.
    pub block: Block<'a>,
    /// The register.
    pub register: Register<'a>,
    /// Index in the array.
    pub index: u32,
}

/// A syntax error in a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Number of the line, from 1.
    pub line: usize,
    /// Description of the error.
    pub message: &'static str,
}

/// The lines of a block's registers by name, for [`constants!`](crate::constants).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Index<'a, 'i> {
    /// The block.
    pub block: Block<'a>,
    /// Of each register its name, its line and the text below.
    pub lines: &'i [(&'a str, &'a str, &'a str)],
}

impl<'a> Map<'a> {
    /// Name of the chip on a command line.
    pub fn name(self) -> &'a str {
        word(self.head("map ")).0
    }

    /// Title of the map.
    pub fn title(self) -> &'a str {
        word(self.head("map ")).1
    }

    /// The source document of the map.
    pub fn source(self) -> &'a str {
        self.head("source ")
    }

    fn head(self, key: &str) -> &'a str {
        let mut lines = self.0.lines().take_while(|l| !l.starts_with("block "));
        lines.find_map(|line| line.strip_prefix(key)).unwrap_or("")
    }

    /// The blocks, by ascending address.
    pub fn blocks(self) -> impl Iterator<Item = Block<'a>> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            let (block, below) = Block::next(rest)?;
            rest = below;
            Some(block)
        })
    }

    /// The block called `name`.
    pub const fn block(self, name: &str) -> Option<Block<'a>> {
        let mut rest = self.0;
        while let Some((block, below)) = Block::next(rest) {
            if equal(block.name, name) {
                return Some(block);
            }
            rest = below;
        }
        None
    }

    /// The register at `address`.
    pub fn at(self, address: u32) -> Option<Found<'a>> {
        self.blocks()
            .find_map(|block| block.at(address.checked_sub(block.base?)?))
    }

    /// The first syntax error, for authors of maps.
    pub fn first_error(self) -> Option<ParseError> {
        let mut context = Context::Nothing;
        (1..).zip(self.0.lines()).find_map(|(number, line)| {
            let error = |message| {
                Some(ParseError {
                    line: number,
                    message,
                })
            };
            let register = context.register();
            if line.is_empty() || line.starts_with('#') {
                None
            } else if let Some(value) = line.strip_prefix("  ") {
                match (context, Value::parse(value)) {
                    (Context::Field(..), Some(_)) => None,
                    (_, None) => error("a value needs a hexadecimal number and a name"),
                    _ => error("a value needs a field above it"),
                }
            } else if let Some(text) = line.strip_prefix(' ') {
                let Some(register) = register else {
                    return error("a field needs a register above it");
                };
                match Field::parse(text, "", register.access) {
                    Some(field) if field.bits.low + field.bits.count > register.width => {
                        error("the field does not fit into its register")
                    }
                    Some(field) if field.bits.mask() & context.used_bits() != 0 => {
                        error("the field shares a bit with one above it")
                    }
                    Some(field) => {
                        context = Context::Field(register, context.used_bits() | field.bits.mask());
                        None
                    }
                    None => error("a field needs its bits, as 5 or 29:16, and a name"),
                }
            } else if line.starts_with("block ") {
                context = Context::Block;
                let block = Block::next(line);
                block.is_none().then_some(())?;
                error("a block needs a name and an address, or - in its place")
            } else if matches!(context, Context::Nothing) {
                let known = line.starts_with("map ") || line.starts_with("source ");
                if known {
                    None
                } else {
                    error("only `map` and `source` are allowed before the first block")
                }
            } else {
                match Register::parse(line, "", Attributes::DEFAULT) {
                    Some(register) => {
                        context = Context::Register(register);
                        None
                    }
                    None => error("a register needs an offset, a name and its value after reset"),
                }
            }
        })
    }
}

/// Context of a line of a map.
#[derive(Clone, Copy)]
enum Context<'a> {
    Nothing,
    Block,
    Register(Register<'a>),
    /// With the bits already used by fields.
    Field(Register<'a>, u32),
}

impl<'a> Context<'a> {
    fn register(self) -> Option<Register<'a>> {
        match self {
            Self::Register(register) | Self::Field(register, _) => Some(register),
            Self::Nothing | Self::Block => None,
        }
    }

    fn used_bits(self) -> u32 {
        match self {
            Self::Field(_, used) => used,
            _ => 0,
        }
    }
}

impl<'a> Block<'a> {
    /// The first block of `text`, and the text after it.
    const fn next(text: &'a str) -> Option<(Self, &'a str)> {
        let Some(text) = strip_prefix(split_before(text, "block ").1, "block ") else {
            return None;
        };
        let (head, below) = line(text);
        let (lines, rest) = split_before(below, "block ");
        let (name, words) = word(head);
        let (base, words) = word(words);
        let base = match hex(base) {
            Some(base) => Some(base),
            None if equal(base, "-") => None,
            None => return None,
        };
        let attributes = Attributes::DEFAULT.overridden_by(words);
        let title = attributes.title;
        Some((
            Self {
                name,
                base,
                title,
                attributes,
                lines,
            },
            rest,
        ))
    }

    /// The registers, by ascending offset (for arrays, that of the first).
    pub fn registers(self) -> impl Iterator<Item = Register<'a>> {
        let mut rest = self.lines;
        core::iter::from_fn(move || {
            while !rest.is_empty() {
                let (first, below) = line(rest);
                rest = below;
                if let Some(register) = self.parse(first, below) {
                    return Some(register);
                }
            }
            None
        })
    }

    /// The register called `name` (`{}` for the index in arrays).
    pub const fn register(self, name: &str) -> Option<Register<'a>> {
        match self.line_of(name) {
            Some(register) => Some(self.with_fields(register)),
            None => None,
        }
    }

    /// The register called `name`, with the fields below its line only.
    const fn line_of(self, name: &str) -> Option<Register<'a>> {
        let mut rest = self.lines;
        while !rest.is_empty() {
            let (first, below) = line(rest);
            rest = below;
            let first_name = word(word(first).1).0;
            if equal(first_name, name)
                && let Some(register) = self.parse_line(first, below)
            {
                return Some(register);
            }
        }
        None
    }

    /// The register at `offset`.
    pub fn at(self, offset: u32) -> Option<Found<'a>> {
        self.registers().find_map(|register| {
            let index = register.offsets().position(|at| at == offset)? as u32;
            Some(Found {
                block: self,
                register,
                index,
            })
        })
    }

    /// Number of lines that are neither fields nor comments.
    #[doc(hidden)]
    pub const fn lines_of_registers(self) -> usize {
        let (mut count, mut rest) = (0, self.lines);
        while !rest.is_empty() {
            count += is_of_register(rest) as usize;
            rest = line(rest).1;
        }
        count
    }

    /// The lines of an [`Index`].
    #[doc(hidden)]
    pub const fn index<const LINES: usize>(self) -> [(&'a str, &'a str, &'a str); LINES] {
        let mut lines = [("", "", ""); LINES];
        let (mut count, mut rest) = (0, self.lines);
        while !rest.is_empty() {
            let (first, below) = line(rest);
            if is_of_register(rest) {
                lines[count] = (word(word(first).1).0, first, below);
                count += 1;
            }
            rest = below;
        }
        lines
    }

    const fn parse(self, first: &'a str, below: &'a str) -> Option<Register<'a>> {
        match self.parse_line(first, below) {
            Some(register) => Some(self.with_fields(register)),
            None => None,
        }
    }

    const fn parse_line(self, first: &'a str, below: &'a str) -> Option<Register<'a>> {
        if !is_of_register(first) {
            return None;
        }
        let mut default = self.attributes;
        default.title = "";
        Register::parse(first, below, default)
    }

    /// With the fields of the register that `like` names. That one's own `like` is not followed: it may lead back.
    const fn with_fields(self, mut register: Register<'a>) -> Register<'a> {
        if !register.like.is_empty()
            && let Some(model) = self.line_of(register.like)
        {
            register.fields = model.fields;
        }
        register
    }
}

/// True if the first line of `text` is neither a field nor a comment.
const fn is_of_register(text: &str) -> bool {
    strip_prefix(text, " ").is_none() && strip_prefix(text, "#").is_none()
}

impl<'a> Index<'a, '_> {
    /// As [`Block::register`].
    pub const fn register(self, name: &str) -> Option<Register<'a>> {
        let Some(mut register) = self.line_of(name) else {
            return None;
        };
        if !register.like.is_empty()
            && let Some(model) = self.line_of(register.like)
        {
            register.fields = model.fields;
        }
        Some(register)
    }

    const fn line_of(self, name: &str) -> Option<Register<'a>> {
        let mut i = 0;
        while i < self.lines.len() {
            let (its_name, line, below) = self.lines[i];
            if equal(its_name, name)
                && let Some(register) = self.block.parse_line(line, below)
            {
                return Some(register);
            }
            i += 1;
        }
        None
    }
}
