//! Checks of the procedures on simulated devices of known truth and a simulated clock, so that no
//! host noise is in the figures.

use procedure::KnownValue;
use record::folder::SelfTestCheck;
use record::report::number::grouped;

pub(super) fn checks() -> impl Iterator<Item = Box<dyn Fn() -> SelfTestCheck>> {
    let known = procedure::ALL.iter().flat_map(|procedure| procedure.known);
    known.map(|known| Box::new(|| check(known)) as Box<dyn Fn() -> SelfTestCheck>)
}

fn check(known: &KnownValue) -> SelfTestCheck {
    let found = known.measure().map(|result| known.value(&result));
    let error = match (&found, known.truth) {
        (Ok(Some(found)), Some(truth)) => Some(found - truth),
        _ => None,
    };
    SelfTestCheck {
        name: format!("{}: {}", known.metric, known.device),
        truth: words(known, known.truth) + &tolerance(known),
        measured: found.as_ref().map_or_else(ToString::to_string, |found| words(known, *found)),
        error: error.map(|error| format!("{}{} {}", sign(error), grouped(error.unsigned_abs()), known.unit())),
        passed: match (&found, error) {
            (Ok(_), Some(error)) => (-known.error.0..=known.error.1).contains(&error),
            (Ok(found), None) => *found == known.truth,
            (Err(_), _) => false,
        },
        ..SelfTestCheck::default()
    }
}

fn words(known: &KnownValue, value: Option<i64>) -> String {
    value.map_or("nothing of the device".to_owned(), |value| {
        format!("{}{} {}", if value < 0 { "-" } else { "" }, grouped(value.unsigned_abs()), known.unit())
    })
}

fn tolerance(known: &KnownValue) -> String {
    match (known.truth, known.error) {
        (None, _) => String::new(),
        (_, (0, 0)) => " exactly".to_owned(),
        (_, (below, 0)) => format!(" or up to {} less", grouped(below.unsigned_abs())),
        (_, (below, _)) => format!(" within {}", grouped(below.unsigned_abs())),
    }
}

fn sign(error: i64) -> &'static str {
    match error.signum() {
        -1 => "-",
        0 => "",
        _ => "+",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_procedure_recovers_its_truth() {
        let failed: Vec<SelfTestCheck> = checks().map(|check| check()).filter(|check| !check.passed).collect();
        assert!(failed.is_empty(), "{failed:#?}");
    }

    #[test]
    fn a_value_beyond_the_error_fails() {
        let first = &procedure::ALL[0].known[0];
        let off = |truth| check(&KnownValue { truth, ..*first });
        assert!(!off(Some(601_000)).passed && !off(Some(598_000)).passed && !off(None).passed);
        assert_eq!(off(Some(599_000)).error.as_deref().map(|error| error.starts_with('+')), Some(true));
    }
}
