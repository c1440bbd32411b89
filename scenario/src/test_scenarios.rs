//! Scenarios for tests, each in a file `x.toml` that begins with its name.

use crate::{Options, Scenario, parse};

/// Parses a scenario with these overrides. Fails with all complaints.
pub(crate) fn load(rest: &str, set: &[&str]) -> Result<Scenario, String> {
    load_with(rest, set, false)
}

/// Parses a scenario of a conforming run with these overrides. Fails with all complaints.
pub(crate) fn load_full(rest: &str, set: &[&str]) -> Result<Scenario, String> {
    load_with(rest, set, true)
}

fn load_with(rest: &str, set: &[&str], full: bool) -> Result<Scenario, String> {
    let options = Options { full, set: set.iter().map(|&text| text.to_owned()).collect(), ..Options::default() };
    let loaded = parse("x.toml", &format!("name = \"x\"\n{rest}"), &options, tech::ALL);
    loaded.map(|loaded| loaded.scenario).map_err(|complaints| complaints.render(false))
}

pub(crate) fn refused(rest: &str, set: &[&str]) -> String {
    load(rest, set).expect_err("it must be refused")
}
