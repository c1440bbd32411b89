//! Scenarios of tests, in a file `x.toml` whose first line is their name.

use crate::{Options, Scenario, parse};

/// A scenario with these overrides, or all that is wrong with it.
pub(crate) fn load(rest: &str, set: &[&str]) -> Result<Scenario, String> {
    load_with(rest, set, false)
}

/// The same for a conforming run.
pub(crate) fn load_full(rest: &str, set: &[&str]) -> Result<Scenario, String> {
    load_with(rest, set, true)
}

fn load_with(rest: &str, set: &[&str], full: bool) -> Result<Scenario, String> {
    let options = Options { full, set: set.iter().map(|&text| text.to_owned()).collect(), ..Options::default() };
    let loaded = parse("x.toml", &format!("name = \"x\"\n{rest}"), &options, tech::ALL);
    loaded.map(|loaded| loaded.scenario).map_err(|complaints| complaints.render(false))
}

/// All that is wrong with a scenario.
pub(crate) fn refused(rest: &str, set: &[&str]) -> String {
    load(rest, set).expect_err("it must be refused")
}
