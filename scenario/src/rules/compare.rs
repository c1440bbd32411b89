//! Published tables that a scenario names: natmeter ships them.

use super::Check;
use key::{Fault, did_you_mean};

/// The numbers of the published tables and figures. The crate `record` has these, and checks that they are the same.
pub const PUBLISHED: [&str; 37] = [
    "000-fig02",
    "000-fig04",
    "000-fig05",
    "000-fig06",
    "000-fig08",
    "000-fig09",
    "000-fig10",
    "000-fig11",
    "000-fig12",
    "000-fig13",
    "000-fig15",
    "000-fig17",
    "001-slide-conn",
    "001-slide-cpu",
    "001-slide-teardown-iptables",
    "001-slide-teardown-jool",
    "002-tab02",
    "002-tab03",
    "002-tab04",
    "002-tab05",
    "002-tab06",
    "002-tab07",
    "002-tab08",
    "002-tab09",
    "003-fig02",
    "003-fig04",
    "003-fig05",
    "003-fig07",
    "003-fig08",
    "003-fig09",
    "004-tab1",
    "004-tab2",
    "004-tab3",
    "004-tab4",
    "004-tab5",
    "004-tab6",
    "004-tab7",
];

impl Check<'_> {
    pub(super) fn compare(&mut self) {
        for (at, number) in self.scenario.compare.iter().enumerate() {
            if PUBLISHED.contains(&number.as_str()) {
                continue;
            }
            let near = did_you_mean(number, PUBLISHED).map_or_else(String::new, |near| format!("write \"{near}\"; "));
            let fault = Fault::new(format!("no published table has the number `{number}`"))
                .at(format!("compare[{at}]"), "unknown");
            self.fault(fault.instead(format!("{near}`natmeter published list` shows all")));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, parse};

    #[test]
    fn published_tables_are_known() {
        let load = |compare: &str| {
            let text = format!("name = \"x\"\ncompare = {compare}\n[dut.embedded]\n[sweep]\nconnections = \"100k\"\n");
            parse("x.toml", &text, &Options::default(), tech::ALL).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(load("[\"002-tab04\", \"000-fig11\"]"), Ok(()));
        let error = load("[\"002-tab40\"]").unwrap_err();
        assert!(error.contains("x.toml:2:") && error.contains("write \"002-tab04\""), "{error}");
    }
}
