//! The fields that a type reads, found by deserializing it: it is given minimal values, and its
//! requests are recorded.

use std::cell::RefCell;

use serde::de::value::{BorrowedStrDeserializer, Error};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;

/// Former names of fields, which scenarios may still have; the reference omits them.
const FORMER_NAMES: [&str; 2] = ["excused", "patience_ms"];

/// A field with the words that it accepts, if limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name after those of its tables, separated by dots.
    pub path: String,
    /// The words.
    pub words: &'static [&'static str],
}

/// Every field that `T` reads, with `path` as the prefix.
pub fn of<T: DeserializeOwned>(path: &str) -> Vec<Field> {
    let found = RefCell::new(Vec::new());
    let result = T::deserialize(FieldProbe {
        path: path.to_owned(),
        found: &found,
    });
    if let Err(error) = result {
        panic!("{path}: {error}");
    }
    found.into_inner()
}

/// Records what a type requests for a value.
struct FieldProbe<'f> {
    path: String,
    found: &'f RefCell<Vec<Field>>,
}

impl FieldProbe<'_> {
    fn within(&self, name: &str) -> Self {
        let dot = if self.path.is_empty() || name.is_empty() {
            ""
        } else {
            "."
        };
        Self {
            path: format!("{}{dot}{name}", self.path),
            found: self.found,
        }
    }
}

impl<'de> Deserializer<'de> for FieldProbe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("takes anything"))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(false)
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u8(0)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u16(0)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u32(0)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u64(0)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64(0.0)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str("")
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Once(Some(self)))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(Fields {
            of: self,
            names: &[],
            wrapper: true,
        })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(Fields {
            of: self,
            names,
            // toml reads it for the position of a value in the file.
            wrapper: name.starts_with("$__"),
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        for field in self.found.borrow_mut().iter_mut() {
            if field.path == self.path {
                field.words = words;
            }
        }
        visitor.visit_enum(BorrowedStrDeserializer::new(words[0]))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u128 f32 char str bytes byte_buf unit unit_struct tuple tuple_struct
        identifier ignored_any
    }
}

/// A list of one.
struct Once<'f>(Option<FieldProbe<'f>>);

impl<'de> SeqAccess<'de> for Once<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        self.0.take().map(|one| seed.deserialize(one)).transpose()
    }
}

/// All fields of a table in sequence.
struct Fields<'f> {
    of: FieldProbe<'f>,
    names: &'static [&'static str],
    /// True if its fields are not the table's own.
    wrapper: bool,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        while let [name, rest @ ..] = self.names
            && FORMER_NAMES.contains(name)
        {
            self.names = rest;
        }
        let Some(&name) = self.names.first() else {
            return Ok(None);
        };
        if !self.wrapper {
            self.of.found.borrow_mut().push(Field {
                path: self.of.within(name).path,
                words: &[],
            });
        }
        seed.deserialize(BorrowedStrDeserializer::new(name))
            .map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (name, rest) = self.names.split_first().expect("a key came first");
        self.names = rest;
        seed.deserialize(self.of.within(if self.wrapper { "" } else { name }))
    }
}
