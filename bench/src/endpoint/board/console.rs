//! Unread lines of a board's console.

use serde::de::DeserializeOwned;

use crate::measure::console::parse;

/// Lines, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Console(pub(super) Vec<String>);

impl Console {
    /// Takes the next line with `event` and drops it and all lines before it. `None`: there is none yet.
    ///
    /// # Errors
    /// A message if the line cannot be parsed.
    pub(crate) fn take_event<T: DeserializeOwned>(
        &mut self,
        event: &str,
    ) -> Result<Option<T>, String> {
        let key = format!("\"event\":\"{event}\"");
        let Some(at) = self.0.iter().position(|line| line.contains(&key)) else {
            return Ok(None);
        };
        let line = self.0.drain(..=at).next_back().unwrap_or_default();
        parse(&line).transpose()
    }

    /// The last line, for messages.
    pub(crate) fn last(&self) -> &str {
        self.0.last().map_or("nothing", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::Console;
    use serde_json::Value;

    #[test]
    fn an_event_is_taken_once_and_earlier_lines_are_dropped() {
        let lines = [
            "hello",
            "@ {\"event\":\"rounds\",\"rounds\":3}",
            "@ {\"event\":\"rounds\",x",
        ];
        let mut console = Console(lines.map(str::to_owned).to_vec());
        assert_eq!(console.take_event::<Value>("frames"), Ok(None));
        let rounds = console.take_event::<Value>("rounds").expect("JSON");
        assert_eq!(rounds.expect("an event")["rounds"], 3);
        assert_eq!(console.0.len(), 1);
        assert!(console.take_event::<Value>("rounds").is_err());
        assert_eq!(console.last(), "nothing");
    }
}
