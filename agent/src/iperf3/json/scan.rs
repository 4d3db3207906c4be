use super::number::{Number, Reader};

/// Maximum nesting depth: the bits of an integer. iperf's JSON has a depth of three.
pub(crate) const MAX_DEPTH: u8 = 32;

/// The input is not JSON, or nested too deeply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidJson;

/// A parser event. Strings are truncated to the scanner's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    /// Begin of an object or an array.
    Begin {
        object: bool,
    },
    /// End of an object or an array.
    End {
        object: bool,
    },
    /// A member's name; its value follows.
    Key(&'a [u8]),
    /// A string, with escapes decoded.
    Text(&'a [u8]),
    Number(Number),
    Bool(bool),
    Null,
}

/// Callback for events, with the number of enclosing objects and arrays; at a begin or an end, this includes
/// the object or array itself.
pub(crate) type OnEvent<'a> = &'a mut dyn FnMut(u8, Event<'_>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    /// The first element of an array, if any.
    ValueOrEnd,
    Key,
    /// The first member of an object, if any.
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    Over,
    Text {
        key: bool,
    },
    /// Remaining characters of a literal.
    Literal {
        rest: &'static [u8],
        is: Literal,
    },
    Number,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Literal {
    True,
    False,
    Null,
}

/// Position in an escape sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    No,
    Backslash,
    /// Digits received of a code unit.
    Unit {
        digits: u8,
        unit: u16,
    },
}

/// Parses one value; keeps `TEXT` octets of each string.
#[derive(Debug, Clone)]
pub(crate) struct Scanner<const TEXT: usize> {
    state: State,
    /// Type of each level, the innermost in the lowest bit: 1 = object.
    objects: u32,
    depth: u8,
    text: [u8; TEXT],
    len: usize,
    escape: Escape,
    /// The first half of a surrogate pair, whose second half must follow; or 0.
    high: u16,
    number: Reader,
}

impl<const TEXT: usize> Scanner<TEXT> {
    pub(crate) const fn new() -> Self {
        Self {
            state: State::Value,
            objects: 0,
            depth: 0,
            text: [0; TEXT],
            len: 0,
            escape: Escape::No,
            high: 0,
            number: Reader::new(),
        }
    }

    /// Prepares for another value, after a complete one.
    pub(crate) const fn restart(&mut self) {
        self.state = State::Value;
    }

    /// Parses a character.
    pub(crate) fn push(&mut self, octet: u8, on_event: OnEvent) -> Result<(), InvalidJson> {
        match self.state {
            State::Text { key } => return self.text(octet, key, on_event),
            State::Number if self.number.push(octet) => return Ok(()),
            State::Number => self.end_number(on_event)?,
            State::Literal { rest, is } => return self.literal(octet, rest, is, on_event),
            _ => {}
        }
        if matches!(octet, b' ' | b'\t' | b'\n' | b'\r') {
            return Ok(());
        }
        match (self.state, octet) {
            (State::Key | State::KeyOrEnd, b'"') => self.begin_text(true),
            (State::KeyOrEnd, b'}')
            | (State::ValueOrEnd, b']')
            | (State::CommaOrEnd, b'}' | b']') => self.end(octet, on_event)?,
            (State::Colon, b':') => self.state = State::Value,
            (State::CommaOrEnd, b',') => {
                self.state = if self.in_object() {
                    State::Key
                } else {
                    State::Value
                };
            }
            (State::Value | State::ValueOrEnd, _) => self.value(octet, on_event)?,
            _ => return Err(InvalidJson),
        }
        Ok(())
    }

    /// Ends the input; an error if the value is incomplete.
    pub(crate) fn finish(&mut self, on_event: OnEvent) -> Result<(), InvalidJson> {
        if self.state == State::Number {
            self.end_number(on_event)?;
        }
        if self.state == State::Over {
            Ok(())
        } else {
            Err(InvalidJson)
        }
    }

    const fn in_object(&self) -> bool {
        self.objects & 1 == 1
    }

    fn value(&mut self, octet: u8, on_event: OnEvent) -> Result<(), InvalidJson> {
        let word = |rest: &'static str, is| State::Literal {
            rest: rest.as_bytes(),
            is,
        };
        match octet {
            b'{' | b'[' => {
                let object = octet == b'{';
                if self.depth == MAX_DEPTH {
                    return Err(InvalidJson);
                }
                self.depth += 1;
                self.objects = self.objects << 1 | u32::from(object);
                self.state = if object {
                    State::KeyOrEnd
                } else {
                    State::ValueOrEnd
                };
                on_event(self.depth, Event::Begin { object });
            }
            b'"' => self.begin_text(false),
            b't' => self.state = word("rue", Literal::True),
            b'f' => self.state = word("alse", Literal::False),
            b'n' => self.state = word("ull", Literal::Null),
            _ => {
                self.number = Reader::new();
                self.state = State::Number;
                if !self.number.push(octet) {
                    return Err(InvalidJson);
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, octet: u8, on_event: OnEvent) -> Result<(), InvalidJson> {
        let object = octet == b'}';
        if self.depth == 0 || object != self.in_object() {
            return Err(InvalidJson);
        }
        on_event(self.depth, Event::End { object });
        self.depth -= 1;
        self.objects >>= 1;
        self.after_value();
        Ok(())
    }

    fn after_value(&mut self) {
        self.state = if self.depth == 0 {
            State::Over
        } else {
            State::CommaOrEnd
        };
    }

    fn end_number(&mut self, on_event: OnEvent) -> Result<(), InvalidJson> {
        let number = self.number.number().ok_or(InvalidJson)?;
        self.after_value();
        on_event(self.depth, Event::Number(number));
        Ok(())
    }

    fn literal(
        &mut self,
        octet: u8,
        rest: &'static [u8],
        is: Literal,
        on_event: OnEvent,
    ) -> Result<(), InvalidJson> {
        let (next, rest) = rest.split_first().ok_or(InvalidJson)?;
        if octet != *next {
            return Err(InvalidJson);
        }
        self.state = State::Literal { rest, is };
        if rest.is_empty() {
            self.after_value();
            let event = match is {
                Literal::True => Event::Bool(true),
                Literal::False => Event::Bool(false),
                Literal::Null => Event::Null,
            };
            on_event(self.depth, event);
        }
        Ok(())
    }

    fn begin_text(&mut self, key: bool) {
        self.state = State::Text { key };
        self.len = 0;
        self.escape = Escape::No;
        self.high = 0;
    }

    fn text(&mut self, octet: u8, key: bool, on_event: OnEvent) -> Result<(), InvalidJson> {
        match self.escape {
            Escape::No => match octet {
                b'"' => {
                    self.end_high();
                    let text = &self.text[..self.len];
                    if key {
                        self.state = State::Colon;
                        on_event(self.depth, Event::Key(text));
                    } else {
                        on_event(self.depth, Event::Text(text));
                        self.after_value();
                    }
                }
                b'\\' => self.escape = Escape::Backslash,
                0..0x20 => return Err(InvalidJson),
                _ => {
                    self.end_high();
                    self.keep(octet);
                }
            },
            Escape::Backslash => {
                let character = match octet {
                    b'"' | b'\\' | b'/' => octet,
                    b'b' => 0x08,
                    b'f' => 0x0c,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'u' => {
                        self.escape = Escape::Unit { digits: 0, unit: 0 };
                        return Ok(());
                    }
                    _ => return Err(InvalidJson),
                };
                self.end_high();
                self.escape = Escape::No;
                self.keep(character);
            }
            Escape::Unit { digits, unit } => {
                let digit = (octet as char).to_digit(16).ok_or(InvalidJson)?;
                let unit = unit << 4 | digit as u16;
                if digits < 3 {
                    let digits = digits + 1;
                    self.escape = Escape::Unit { digits, unit };
                } else {
                    self.escape = Escape::No;
                    self.unit(unit);
                }
            }
        }
        Ok(())
    }

    /// Handles a UTF-16 code unit: a character, or half of one.
    fn unit(&mut self, unit: u16) {
        if self.high != 0 && (0xdc00..0xe000).contains(&unit) {
            let high = u32::from(self.high - 0xd800) << 10;
            self.high = 0;
            self.keep_character(0x1_0000 + (high | u32::from(unit - 0xdc00)));
            return;
        }
        self.end_high();
        if (0xd800..0xdc00).contains(&unit) {
            self.high = unit;
        } else {
            self.keep_character(u32::from(unit));
        }
    }

    /// Handles an unpaired surrogate.
    fn end_high(&mut self) {
        if self.high != 0 {
            self.high = 0;
            self.keep_character(u32::from(char::REPLACEMENT_CHARACTER));
        }
    }

    fn keep_character(&mut self, code: u32) {
        let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        for octet in character.encode_utf8(&mut [0; 4]).bytes() {
            self.keep(octet);
        }
    }

    fn keep(&mut self, octet: u8) {
        if let Some(place) = self.text.get_mut(self.len) {
            *place = octet;
            self.len += 1;
        }
    }
}
