use super::number::{Number, Reader};

/// Maximum nesting depth: the bits of an integer. iperf's JSON has a depth of three.
pub(crate) const MAX_DEPTH: u8 = 32;

/// The input is not JSON, or nested too deeply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidJson;

/// A parser event. Strings are truncated to the scanner's buffer; an escape sequence of a character beyond ASCII is
/// replaced by U+FFFD.
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
    /// A string.
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
    /// A string, or a member's name.
    Text,
    KeyText,
    /// Remaining characters of a literal, in `LITERALS`.
    Literal,
    Number,
}

/// The literals, each without its first character and with an end.
const LITERALS: &[u8; 13] = b"rue.alse.ull.";
const TRUE: u8 = 0;
const FALSE: u8 = 4;
const NULL: u8 = 9;

/// Position in an escape sequence: none, behind the backslash, or the digits that are missing of a code unit.
const NO_ESCAPE: u8 = 0;
const UNIT_DIGITS: u8 = 4;
const BACKSLASH: u8 = 5;

/// Parses one value; keeps `TEXT` octets of each string.
#[derive(Debug, Clone)]
pub(crate) struct Scanner<const TEXT: usize> {
    number: Reader,
    /// Type of each level, the innermost in the lowest bit: 1 = object.
    objects: u32,
    depth: u8,
    state: State,
    /// Index in `LITERALS`.
    literal: u8,
    escape: u8,
    /// Digits received of a code unit.
    unit: u16,
    len: u16,
    text: [u8; TEXT],
}

impl<const TEXT: usize> Scanner<TEXT> {
    pub(crate) const fn new() -> Self {
        assert!(TEXT <= u16::MAX as usize);
        Self {
            number: Reader::new(),
            objects: 0,
            depth: 0,
            state: State::Value,
            literal: 0,
            escape: NO_ESCAPE,
            unit: 0,
            len: 0,
            text: [0; TEXT],
        }
    }

    /// Prepares for another value, after a complete one.
    pub(crate) const fn restart(&mut self) {
        self.state = State::Value;
    }

    /// Parses a character.
    pub(crate) fn push(&mut self, octet: u8, on_event: OnEvent) -> Result<(), InvalidJson> {
        match self.state {
            State::Text | State::KeyText => return self.text(octet, on_event),
            State::Literal => return self.literal(octet, on_event),
            State::Number if self.number.push(octet) => return Ok(()),
            State::Number => self.end_number(on_event)?,
            _ => {}
        }
        if matches!(octet, b' ' | b'\t' | b'\n' | b'\r') {
            return Ok(());
        }
        match (self.state, octet) {
            (State::Key | State::KeyOrEnd, b'"') => self.begin_text(State::KeyText),
            (State::KeyOrEnd | State::CommaOrEnd, b'}')
            | (State::ValueOrEnd | State::CommaOrEnd, b']') => {
                return self.end(octet == b'}', on_event);
            }
            (State::Colon, b':') => self.state = State::Value,
            (State::CommaOrEnd, b',') => {
                self.state = if self.in_object() {
                    State::Key
                } else {
                    State::Value
                };
            }
            (State::Value | State::ValueOrEnd, _) => return self.value(octet, on_event),
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
        self.state = State::Literal;
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
            b'"' => self.begin_text(State::Text),
            b't' => self.literal = TRUE,
            b'f' => self.literal = FALSE,
            b'n' => self.literal = NULL,
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

    fn end(&mut self, object: bool, on_event: OnEvent) -> Result<(), InvalidJson> {
        // In a value outside of everything the depth is 0 only in the state `Over`.
        if object != self.in_object() {
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

    fn literal(&mut self, octet: u8, on_event: OnEvent) -> Result<(), InvalidJson> {
        let rest = LITERALS.get(usize::from(self.literal)..);
        let Some([expected, next, ..]) = rest else {
            return Err(InvalidJson);
        };
        if octet != *expected {
            return Err(InvalidJson);
        }
        self.literal += 1;
        if *next == b'.' {
            self.after_value();
            let event = match self.literal {
                ..FALSE => Event::Bool(true),
                FALSE..NULL => Event::Bool(false),
                NULL.. => Event::Null,
            };
            on_event(self.depth, event);
        }
        Ok(())
    }

    fn begin_text(&mut self, state: State) {
        self.state = state;
        self.len = 0;
        self.escape = NO_ESCAPE;
    }

    fn text(&mut self, octet: u8, on_event: OnEvent) -> Result<(), InvalidJson> {
        match (self.escape, octet) {
            (NO_ESCAPE, b'"') => {
                let text = self.text.get(..usize::from(self.len)).unwrap_or_default();
                if self.state == State::KeyText {
                    self.state = State::Colon;
                    on_event(self.depth, Event::Key(text));
                } else {
                    on_event(self.depth, Event::Text(text));
                    self.after_value();
                }
            }
            (NO_ESCAPE, b'\\') => self.escape = BACKSLASH,
            (NO_ESCAPE, 0..0x20) => return Err(InvalidJson),
            (NO_ESCAPE, _) => self.keep(octet),
            (BACKSLASH, b'u') => {
                self.unit = 0;
                self.escape = UNIT_DIGITS;
            }
            (BACKSLASH, _) => {
                self.escape = NO_ESCAPE;
                self.keep(match octet {
                    b'"' | b'\\' | b'/' => octet,
                    b'b' => 0x08,
                    b'f' => 0x0c,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    _ => return Err(InvalidJson),
                });
            }
            _ => {
                let digit = (octet as char).to_digit(16).ok_or(InvalidJson)?;
                self.unit = self.unit << 4 | digit as u16;
                self.escape -= 1;
                if self.escape == NO_ESCAPE {
                    self.unit();
                }
            }
        }
        Ok(())
    }

    /// Keeps a UTF-16 code unit. No name here has a character beyond ASCII.
    fn unit(&mut self) {
        match u8::try_from(self.unit) {
            Ok(octet) if octet.is_ascii() => self.keep(octet),
            _ => "\u{fffd}".bytes().for_each(|octet| self.keep(octet)),
        }
    }

    fn keep(&mut self, octet: u8) {
        if let Some(place) = self.text.get_mut(usize::from(self.len)) {
            *place = octet;
            self.len += 1;
        }
    }
}
