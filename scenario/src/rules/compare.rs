//! Published tables that a scenario names exist.

use super::Check;
use key::{Fault, did_you_mean};

/// The published tables and figures with their numbers, which the crate `record` ships.
pub const PUBLISHED: &str = include_str!("../../../record/published/tables.toml");

pub fn published_numbers() -> impl Iterator<Item = &'static str> {
    PUBLISHED.lines().filter_map(|line| line.strip_prefix("number = \"")?.strip_suffix('"'))
}

impl Check<'_> {
    pub(super) fn compare(&mut self) {
        for (at, number) in self.scenario.compare.iter().enumerate() {
            if published_numbers().any(|known| known == number) {
                continue;
            }
            let near = did_you_mean(number, published_numbers())
                .map_or_else(String::new, |near| format!("write \"{near}\"; "));
            let fault = Fault::new(format!("no published table has the number `{number}`"))
                .at(format!("compare[{at}]"), "unknown");
            self.fault(fault.instead(format!("{near}`natmeter published list` shows all")));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::test_scenarios;

    #[test]
    fn published_tables_are_known() {
        let load = |compare: &str| {
            let text = format!("compare = {compare}\n[dut.embedded]\n[sweep]\nconnections = \"100k\"\n");
            test_scenarios::load(&text, &[]).map(drop)
        };
        assert_eq!(load("[\"002-tab04\", \"000-fig11\"]"), Ok(()));
        let error = load("[\"002-tab40\"]").unwrap_err();
        assert!(error.contains("x.toml:2:") && error.contains("write \"002-tab04\""), "{error}");
    }
}
