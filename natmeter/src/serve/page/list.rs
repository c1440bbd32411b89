//! The list of runs, with its filter, as a page and as JSON.

use super::e;
use crate::serve::query::{Query, encoded};
use record::runs::{RunEntry, RunSummary, State};
use record::store::date::rfc3339;
use record::versioned::VersionedDocument;
use serde_json::{Value, json};
use std::path::Path;

/// Runs on the page; the filter finds the others.
const ON_THE_PAGE: usize = 200;
/// What the list shows of a scenario.
const SHOWN: [&str; 4] = ["devices", "connections", "cores", "metrics"];

struct RunFilter<'a> {
    text: &'a str,
    words: Vec<String>,
    state: Option<State>,
}

impl RunFilter<'_> {
    fn of(query: &Query) -> RunFilter<'_> {
        let text = query.get("q").unwrap_or_default();
        let words = text.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let state = query.get("state").and_then(|name| State::ALL.into_iter().find(|state| state.name() == name));
        RunFilter { text, words, state }
    }

    fn select<'r>(&self, runs: &'r [RunEntry]) -> Vec<&'r RunEntry> {
        let selects = |run: &&RunEntry| self.state.is_none_or(|state| run.state() == state) && run.has(&self.words);
        runs.iter().filter(selects).collect()
    }
}

pub(in super::super) fn page(folder: &Path, runs: &[RunEntry], query: &Query) -> String {
    let filter = RunFilter::of(query);
    let selected = filter.select(runs);
    let shown = &selected[..selected.len().min(ON_THE_PAGE)];
    let (form, count) = (form(&filter), count(runs.len(), selected.len()));
    let items: String = shown.iter().fold(String::new(), |items, run| items + &item(run));
    let compare =
        if shown.is_empty() { "" } else { "<p class=\"bar\"><button>Compare two selected runs</button></p>\n" };
    let main = format!(
        "<h1>Runs in {}</h1>\n{form}<p class=\"soft\">{count}</p>\n<form method=\"get\" action=\"/compare\">\n\
         <ul class=\"runs\">\n{items}</ul>\n{compare}</form>\n",
        e(&folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy())
    );
    super::page("Runs", "", &main)
}

fn count(all: usize, selected: usize) -> String {
    match (all, selected) {
        (0, _) => "This folder has no runs yet.".to_owned(),
        (_, 0) => format!("None of {all} runs matches."),
        _ if selected > ON_THE_PAGE => format!("The first {ON_THE_PAGE} of {selected} runs."),
        _ if selected < all => format!("{selected} of {all} runs."),
        (1, _) => "1 run.".to_owned(),
        _ => format!("{all} runs."),
    }
}

fn form(filter: &RunFilter<'_>) -> String {
    let option = |state: State| {
        let chosen = if filter.state == Some(state) { " selected" } else { "" };
        format!("<option{chosen}>{}</option>\n", state.name())
    };
    format!(
        "<form method=\"get\" action=\"/\" class=\"filter\" role=\"search\">\n\
         <label>Words <input type=\"search\" name=\"q\" value=\"{}\"></label>\n\
         <label>State <select name=\"state\">\n<option value=\"\">all</option>\n{}</select></label>\n\
         <button>Filter</button>\n</form>\n",
        e(filter.text),
        State::ALL.map(option).concat()
    )
}

fn item(run: &RunEntry) -> String {
    let (name, link, state) = (e(&run.name), encoded(&run.name), run.state().name());
    let (counts, summary) = match &run.found {
        Ok(brief) => {
            let counts = brief.parts.map(|parts| format!(": {parts} runs"));
            let counts = counts.unwrap_or_else(|| format!(": {} of {}", brief.measured, brief.planned));
            (counts, summary(brief, &link, run.state()))
        }
        Err(why) => (String::new(), format!("<p class=\"why\">{}</p>\n", e(why))),
    };
    format!(
        "<li>\n<label class=\"pick\"><input type=\"checkbox\" name=\"run\" value=\"{name}\" aria-label=\"Compare {name}\"></label>\n\
         <div>\n<a class=\"name\" href=\"/run/{link}/\">{name}</a>\n<span class=\"state {state}\">{state}{counts}</span>\n\
         {summary}</div>\n</li>\n"
    )
}

fn summary(brief: &RunSummary, link: &str, state: State) -> String {
    let words = SHOWN.iter().filter_map(|name| Some(format!("{name}: {}", brief.words.get(*name)?)));
    let words = words.collect::<Vec<_>>().join(" · ");
    let live = format!(" · <a href=\"/run/{link}/live\">live view</a>");
    let live = if state == State::Unfinished { live.as_str() } else { "" };
    let (words, started, version) = (e(&words), e(&brief.started), e(&brief.version));
    let sure = brief.how_sure.map_or_else(String::new, |word| format!("How sure? <strong>{word}</strong> · "));
    format!("<p>{words}</p>\n<p class=\"soft\">{sure}started {started} · natmeter {version}{live}</p>\n")
}

/// All selected runs.
pub(in super::super) fn json(runs: &[RunEntry], query: &Query) -> String {
    let entries: Vec<Value> = RunFilter::of(query).select(runs).into_iter().map(entry).collect();
    serde_json::to_string(&VersionedDocument::of(&json!({ "runs": entries }))).unwrap_or_default()
}

fn entry(run: &RunEntry) -> Value {
    let brief = run.found.as_ref().ok();
    let mut entry = json!({
        "name": run.name,
        "state": run.state().name(),
        "written": run.written.map(rfc3339),
        "scenario": brief.map(|brief| &brief.scenario),
        "started": brief.map(|brief| &brief.started),
        "version": brief.map(|brief| &brief.version),
        "planned": brief.map(|brief| brief.planned),
        "measured": brief.map(|brief| brief.measured),
        "how_sure": brief.map(|brief| brief.how_sure),
        "error": run.found.as_ref().err(),
    });
    entry.as_object_mut().into_iter().for_each(|fields| fields.retain(|_, value| !value.is_null()));
    entry
}
