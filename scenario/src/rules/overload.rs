//! Tests of the rules about overload scalability.

use crate::test_scenarios;

fn load(connections: &str, flows: &str) -> Result<(), String> {
    let text = format!(
        "[dut.embedded]\n[sweep]\nconnections = {connections}\n[measure]\n\
         metrics = [\"max_conn_est_rate\", \"overload_scalability\"]\n{flows}\n"
    );
    test_scenarios::load(&text, &[]).map(drop)
}

#[test]
fn few_flows_begin_one_after_the_other() {
    let keys = "[measure.overload-scalability]\ninterval = \"10 ms\"";
    assert_eq!(load("[10000]", keys), Ok(()));
    let error = load("[10000, 100000]", keys).unwrap_err();
    assert!(error.contains("at most 65536 flows begin one after the other"), "{error}");
    let skewed = format!("{keys}\n[traffic]\npopularity = \"zipf 1.0\"");
    let error = load("[10000]", &skewed).unwrap_err();
    assert!(error.contains("same popularity"), "{error}");
}

#[test]
fn as_many_flows_as_before_are_refused_at_their_line() {
    assert_eq!(load("[10000]", ""), Ok(()));
    let error = load("[10000, 100000]", "[measure.overload-scalability]\nflows = 10000").unwrap_err();
    assert!(error.contains("x.toml:4:") && error.contains("more connections"), "{error}");
    assert!(load("[1]", "").is_err());
}
