//! A section of a board file: reads fields once, and names what is wrong with one.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{FileError, Problem};

/// A number of a board file and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The field, such as `memory.ddr.cas`.
    pub field: String,
    /// Its value.
    pub value: u64,
    /// Its source.
    pub source: String,
}

impl Figure {
    /// True if the source is a guess.
    pub fn is_guess(&self) -> bool {
        self.source.starts_with("guess")
    }
}

/// The text that is read, and the numbers found so far.
pub(super) struct Document<'a> {
    pub file: &'a str,
    pub text: &'a str,
    pub figures: RefCell<Vec<Figure>>,
}

impl Document<'_> {
    /// An error at this part of the text.
    pub fn error(&self, span: Range<usize>, field: String, problem: Problem) -> FileError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        FileError {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            field,
            problem,
        }
    }
}

/// A table.
pub(super) struct Section<'a> {
    document: &'a Document<'a>,
    path: String,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    source: Option<String>,
    read: RefCell<BTreeSet<&'static str>>,
}

impl<'a> Section<'a> {
    /// The section at `path`; its own `source` applies to its numbers, else that of its parent.
    pub fn new(
        document: &'a Document<'a>,
        path: String,
        table: &'a DeTable<'a>,
        span: Range<usize>,
        parent_source: Option<String>,
    ) -> Result<Self, FileError> {
        let mut section = Self {
            document,
            path,
            table,
            span,
            source: None,
            read: RefCell::new(BTreeSet::new()),
        };
        let own = section.optional_text("source")?.map(str::to_owned);
        section.source = own.or(parent_source);
        Ok(section)
    }

    fn field(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    fn get(&self, name: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.read.borrow_mut().insert(name);
        self.table.get(name)
    }

    fn missing(&self, name: &str, valid: String) -> FileError {
        let problem = Problem::Missing { valid };
        self.document
            .error(self.span.clone(), self.field(name), problem)
    }

    /// An error at field `name`, or at the section if it does not have it.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and texts alike")]
    pub fn wrong(&self, name: &str, found: impl ToString, valid: impl Into<String>) -> FileError {
        let span = self
            .table
            .get(name)
            .map_or(self.span.clone(), Spanned::span);
        let problem = Problem::Value {
            found: found.to_string(),
            valid: valid.into(),
        };
        self.document.error(span, self.field(name), problem)
    }

    fn wrong_type(&self, name: &str, value: &Spanned<DeValue<'_>>, valid: String) -> FileError {
        let problem = Problem::Type {
            found: format!("a value of type {}", value.get_ref().type_str()),
            valid,
        };
        self.document.error(value.span(), self.field(name), problem)
    }

    /// A number with its source.
    pub fn number(&self, name: &'static str, valid: RangeInclusive<u64>) -> Result<u64, FileError> {
        let words = format!("a whole number from {} to {}", valid.start(), valid.end());
        let value = self
            .get(name)
            .ok_or_else(|| self.missing(name, words.clone()))?;
        let (number, source) = match value.get_ref() {
            DeValue::Table(table) => {
                let figure = Section::new(
                    self.document,
                    self.field(name),
                    table,
                    value.span(),
                    self.source.clone(),
                )?;
                let inner = figure
                    .get("value")
                    .ok_or_else(|| figure.missing("value", words.clone()))?;
                let number = figure.whole("value", inner, &words)?;
                figure.finish()?;
                (number, figure.source)
            }
            _ => (self.whole(name, value, &words)?, self.source.clone()),
        };
        if !valid.contains(&number) {
            return Err(self.wrong(name, number, words));
        }
        let Some(source) = source else {
            let problem = Problem::NoSource { value: number };
            return Err(self.document.error(value.span(), self.field(name), problem));
        };
        self.document.figures.borrow_mut().push(Figure {
            field: self.field(name),
            value: number,
            source,
        });
        Ok(number)
    }

    fn whole(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        valid: &str,
    ) -> Result<u64, FileError> {
        let Some(integer) = value.get_ref().as_integer() else {
            return Err(self.wrong_type(name, value, valid.to_owned()));
        };
        u64::from_str_radix(integer.as_str(), integer.radix())
            .map_err(|_| self.wrong(name, integer.as_str(), valid))
    }

    /// The one permitted number of a field that is no figure.
    pub fn unsourced(&self, name: &'static str, only: u64) -> Result<(), FileError> {
        let value = self.get(name);
        let value = value.ok_or_else(|| self.missing(name, only.to_string()))?;
        match self.whole(name, value, &only.to_string())? {
            number if number == only => Ok(()),
            other => Err(self.wrong(name, other, only.to_string())),
        }
    }

    /// A number of cycles.
    pub fn cycles(&self, name: &'static str) -> Result<u32, FileError> {
        Ok(self.number(name, 0..=10_000)? as u32)
    }

    /// A number that may be left out.
    pub fn optional(
        &self,
        name: &'static str,
        valid: RangeInclusive<u64>,
    ) -> Result<Option<u64>, FileError> {
        match self.get(name) {
            Some(_) => self.number(name, valid).map(Some),
            None => Ok(None),
        }
    }

    /// A power of two.
    pub fn power(&self, name: &'static str, valid: RangeInclusive<u64>) -> Result<u32, FileError> {
        let words = format!("a power of two from {} to {}", valid.start(), valid.end());
        let number = self.number(name, valid)?;
        if number.is_power_of_two() {
            Ok(number as u32)
        } else {
            Err(self.wrong(name, number, words))
        }
    }

    /// A 32-bit address or size.
    pub fn address(&self, name: &'static str) -> Result<u32, FileError> {
        Ok(self.number(name, 0..=u64::from(u32::MAX))? as u32)
    }

    /// A text, if it is given.
    pub fn optional_text(&self, name: &'static str) -> Result<Option<&'a str>, FileError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let text = value.get_ref().as_str();
        let text =
            text.ok_or_else(|| self.wrong_type(name, value, "a text in quotes".to_owned()))?;
        Ok(Some(text))
    }

    /// A text.
    pub fn text(&self, name: &'static str) -> Result<&'a str, FileError> {
        let text = self.optional_text(name)?;
        text.ok_or_else(|| self.missing(name, "a text in quotes".to_owned()))
    }

    /// One of `choices`; returns its index.
    pub fn choice(&self, name: &'static str, choices: &[&str]) -> Result<usize, FileError> {
        let valid = format!("one of {}", choices.join(", "));
        let text = self
            .optional_text(name)?
            .ok_or_else(|| self.missing(name, valid.clone()))?;
        let found = choices.iter().position(|choice| *choice == text);
        found.ok_or_else(|| self.wrong(name, text, valid))
    }

    /// True or false.
    pub fn flag(&self, name: &'static str) -> Result<bool, FileError> {
        let valid = || "true or false".to_owned();
        let value = self.get(name).ok_or_else(|| self.missing(name, valid()))?;
        let flag = value.get_ref().as_bool();
        flag.ok_or_else(|| self.wrong_type(name, value, valid()))
    }

    /// The section in field `name`, if there is one.
    pub fn section(&self, name: &'static str) -> Result<Option<Section<'a>>, FileError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let valid = || format!("a section [{}]", self.field(name));
        let table = value.get_ref().as_table();
        let table = table.ok_or_else(|| self.wrong_type(name, value, valid()))?;
        let source = self.source.clone();
        Section::new(self.document, self.field(name), table, value.span(), source).map(Some)
    }

    /// The named sections below field `name`, in the order of the file.
    pub fn sections(&self, name: &'static str) -> Result<Vec<(String, Section<'a>)>, FileError> {
        let Some(all) = self.section(name)? else {
            return Ok(Vec::new());
        };
        let mut sections = Vec::new();
        for (key, value) in all.table {
            let key = key.get_ref().as_ref();
            if key == "source" {
                continue;
            }
            let valid = format!("a section [{}]", all.field(key));
            let table = value.get_ref().as_table();
            let table = table.ok_or_else(|| all.wrong_type(key, value, valid))?;
            let path = all.field(key);
            let section =
                Section::new(self.document, path, table, value.span(), all.source.clone())?;
            sections.push((value.span().start, (key.to_owned(), section)));
        }
        sections.sort_by_key(|(start, _)| *start);
        Ok(sections.into_iter().map(|(_, section)| section).collect())
    }

    /// The sections of the array in field `name`.
    pub fn list(&self, name: &'static str) -> Result<Vec<Section<'a>>, FileError> {
        let Some(value) = self.get(name) else {
            return Ok(Vec::new());
        };
        let valid = || format!("sections [[{}]]", self.field(name));
        let array = value.get_ref().as_array();
        let array = array.ok_or_else(|| self.wrong_type(name, value, valid()))?;
        let sections = array.iter().enumerate().map(|(index, value)| {
            let path = format!("{}[{index}]", self.field(name));
            let table = value.get_ref().as_table();
            let table = table.ok_or_else(|| self.wrong_type(name, value, valid()))?;
            Section::new(
                self.document,
                path,
                table,
                value.span(),
                self.source.clone(),
            )
        });
        sections.collect()
    }

    /// The index of the name in field `name` among `known`.
    pub fn reference(&self, name: &'static str, known: &[String]) -> Result<usize, FileError> {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        self.choice(name, &known)
    }

    /// Rejects fields that nothing has asked for.
    pub fn finish(&self) -> Result<(), FileError> {
        let read = self.read.borrow();
        let unknown = self
            .table
            .iter()
            .find(|(key, _)| !read.contains(key.get_ref().as_ref()));
        let Some((key, _)) = unknown else {
            return Ok(());
        };
        let valid = read.iter().map(|name| (*name).to_owned()).collect();
        let field = self.field(key.get_ref().as_ref());
        Err(self
            .document
            .error(key.span(), field, Problem::Unknown { valid }))
    }
}
