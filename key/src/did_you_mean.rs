//! Finds the known word most similar to a mistyped one.

/// Returns the candidate most similar to `word`, ignoring case, `_` and spaces, if similar enough.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let word = plain(word);
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&word, &plain(candidate)), candidate))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words() {
        let known = ["repetitions", "duration", "drain", "settle"];
        assert_eq!(did_you_mean("repetition", known), Some("repetitions"));
        assert_eq!(did_you_mean("darin", known), Some("drain"));
        assert_eq!(did_you_mean("Settle", known), Some("settle"));
        assert_eq!(did_you_mean("frobnicate", known), None);
    }
}
