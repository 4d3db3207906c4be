//! Suggestions for misspelt names.

/// The known name nearest to what was written, if one is near enough to be meant.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance =
        |name: &str| strsim::damerau_levenshtein(&written.to_lowercase(), &name.to_lowercase());
    let (distance, name) = known.into_iter().map(|name| (distance(name), name)).min()?;
    (distance <= (written.chars().count() / 3).max(1)).then_some(name)
}
