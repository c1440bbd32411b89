//! Test cases of FD.io CSIT: `*.info.json` in version 1 of its data model (docs/model of the repository csit). Its rates are totals
//! of both directions. NDR, PDR and critical rate have a lower and an upper bound; the lower one is the result.

use super::{ForeignResult, ImportError, short, unstated};
use procedure::establishment::MAX_CONN_EST_RATE;
use procedure::throughput::THROUGHPUT;
use serde_json::Value as Json;

const TESTER: &str = "CSIT";

/// A result that a type of test has: its path below `result`, and what it is.
struct TestType {
    of: &'static str,
    path: &'static [&'static str],
    title: &'static str,
    /// Loss tolerance as a share of the frames; none where loss does not decide.
    tolerance: Option<f64>,
    /// Whether it is what natmeter calls throughput or establishment rate.
    is_search: bool,
    note: Option<&'static str>,
}

const KINDS: [TestType; 4] = [
    TestType {
        of: "ndrpdr",
        path: &["ndr", "lower", "rate"],
        title: "NDR, lower bound",
        tolerance: Some(0.0),
        is_search: true,
        note: None,
    },
    TestType {
        of: "ndrpdr",
        path: &["pdr", "lower", "rate"],
        title: "PDR, lower bound",
        tolerance: Some(0.005),
        is_search: true,
        note: None,
    },
    TestType {
        of: "soak",
        path: &["critical_rate", "lower", "rate"],
        title: "critical rate, lower bound",
        tolerance: Some(1e-7),
        is_search: true,
        note: Some("The critical rate of CSIT is an estimate for an average loss ratio of 10^-7."),
    },
    TestType {
        of: "mrr",
        path: &["receive_rate", "rate"],
        title: "maximum receive rate",
        tolerance: None,
        is_search: false,
        note: Some("The maximum receive rate of CSIT is what arrives at full load; natmeter has no metric for it."),
    },
];

const CPS: &str = "A connection of CSIT's cps tests is a short exchange of packets in both directions, not a single packet as in phase 1 \
    of RFC 9693.";

pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

pub(super) fn read(text: &str) -> Result<Vec<ForeignResult>, ImportError> {
    let case: Json = serde_json::from_str(text)
        .map_err(|error| ImportError::new("", format!("this is not JSON: {error}")).at(error.line().max(1)))?;
    if case.get("test_id").is_none() {
        let why = "missing: this is not the output of a test case of CSIT";
        return Err(ImportError::new("test_id", why).other());
    }
    let version = string(&case, "version")?;
    if !version.starts_with("1.") {
        let why = format!("`{}` is not version 1 of CSIT's model, which natmeter reads", short(version));
        return Err(ImportError::new("version", why));
    }
    if case.get("passed").and_then(Json::as_bool) != Some(true) {
        let message = case.get("message").and_then(Json::as_str).unwrap_or_default();
        return Err(ImportError::new("passed", format!("the test did not pass: {}", short(message))).other());
    }
    let result = case.get("result").ok_or_else(|| ImportError::new("result", "missing"))?;
    let of = result.get("type").and_then(Json::as_str).ok_or_else(|| ImportError::new("result.type", "missing"))?;
    let kinds: Vec<&TestType> = KINDS.iter().filter(|kind| kind.of == of).collect();
    if kinds.is_empty() {
        let why = format!("`{}` has no rate that natmeter reads; it reads mrr, ndrpdr and soak", short(of));
        return Err(ImportError::new("result.type", why));
    }
    let mut found = Vec::new();
    for kind in kinds {
        let (unit, values) = rates(result, kind)?;
        for value in values {
            found.push(single(&case, kind, unit, value)?);
        }
    }
    Ok(found)
}

fn string<'a>(case: &'a Json, field: &str) -> Result<&'a str, ImportError> {
    case.get(field).and_then(Json::as_str).ok_or_else(|| ImportError::new(field, "missing, or not a string"))
}

/// The unit and the values at the path of a result: one, or those of a list.
fn rates<'a>(result: &'a Json, kind: &TestType) -> Result<(&'a str, Vec<f64>), ImportError> {
    let path = format!("result.{}", kind.path.join("."));
    let rate = kind.path.iter().try_fold(result, |json, name| json.get(name));
    let rate = rate.ok_or_else(|| ImportError::new(&path, "missing"))?;
    let unit = rate.get("unit").and_then(Json::as_str).unwrap_or_default();
    if !["pps", "cps"].contains(&unit) {
        let why = format!("`{}` is not a unit of CSIT's rates: pps or cps", short(unit));
        return Err(ImportError::new(&format!("{path}.unit"), why));
    }
    let (name, values) = match rate.get("values") {
        Some(values) => ("values", values.as_array().cloned().unwrap_or_default()),
        None => ("value", rate.get("value").cloned().into_iter().collect()),
    };
    let field = format!("{path}.{name}");
    let number = |value: &Json| value.as_f64().filter(|value| value.is_finite() && *value >= 0.0);
    let values: Option<Vec<f64>> = values.iter().map(number).collect();
    match values {
        Some(values) if !values.is_empty() => Ok((unit, values)),
        _ => Err(ImportError::new(&field, "no number of at least 0")),
    }
}

fn single(case: &Json, kind: &TestType, unit: &str, value: f64) -> Result<ForeignResult, ImportError> {
    let test = string(case, "test_id")?;
    let tags: Vec<&str> =
        case.get("tags").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
    let name = test.rsplit('.').next().unwrap_or(test);
    let mut under = unstated(TESTER, kind.title);
    under.implementation = short(&format!("{} {}", string(case, "dut_type")?, string(case, "dut_version")?));
    under.technology = if tags.contains(&"NAT44") { "stateful NAT44".to_owned() } else { short(name) };
    let nic = tags.iter().find_map(|tag| tag.strip_prefix("NIC_"));
    under.setup = nic.map_or_else(|| under.setup.clone(), |nic| format!("single DUT, {}", short(nic)));
    under.frame_size = tags.iter().find_map(|tag| tag.strip_suffix('B')?.parse().ok());
    under.cores = tags.iter().find_map(|tag| tag.strip_suffix('C')?.parse().ok());
    under.tolerance = kind.tolerance;
    // Sessions: `-s258048-` in names of NAT44 tests.
    let sessions = name.split('-').find_map(|part| part.strip_prefix('s')?.parse::<u64>().ok());
    under.connections = sessions;
    // Its name has a part for each of hosts, ports, sessions and cores, of which one is the place in a series.
    let is_place = |part: &&str| match (sessions, under.cores) {
        (Some(_), _) => ["h", "p", "s"].iter().any(|of| part.strip_prefix(of).is_some_and(is_number)),
        (None, _) => part.strip_suffix('c').is_some_and(is_number),
    };
    let suite = test.rsplit('.').nth(1).unwrap_or_default();
    let of_test = |name: &str| name.split('-').filter(|part| !is_place(part)).collect::<Vec<_>>().join("-");
    let one_way = name.split('-').any(|part| part == "udir");
    let is_cps = unit == "cps";
    let metric = match (kind.is_search, is_cps) {
        (false, _) => "mrr",
        (true, true) => MAX_CONN_EST_RATE.key,
        (true, false) => THROUGHPUT.key,
    };
    let (x_name, x) = match (sessions, under.cores) {
        (Some(sessions), _) => ("connections", sessions.to_string()),
        (None, Some(cores)) => ("cpu_cores", cores.to_string()),
        (None, None) => ("all", String::new()),
    };
    Ok(ForeignResult {
        metric,
        unit: match (is_cps, one_way) {
            (true, _) => "cps",
            (false, true) => "fps, each direction",
            (false, false) => "fps, both directions",
        },
        x_name,
        x,
        value,
        title: format!("{}, {}{}", under.technology, kind.title, if one_way { ", left to right" } else { "" }),
        test: vec![("test".to_owned(), short(&of_test(name))), ("suite".to_owned(), short(&of_test(suite)))],
        note: kind.note.or(is_cps.then_some(CPS)),
        under,
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}
