//! Suggestions for misspelled names.

/// Returns the known name most similar to `written`, if it is similar enough to be a suggestion.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance =
        |name: &str| strsim::damerau_levenshtein(&written.to_lowercase(), &name.to_lowercase());
    let (distance, name) = known.into_iter().map(|name| (distance(name), name)).min()?;
    (distance <= (written.chars().count() / 3).max(1)).then_some(name)
}
