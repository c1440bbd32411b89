//! The list of runs, with its filter, as a page and as JSON.

use super::e;
use crate::serve::query::{Query, encoded};
use record::runs::{Brief, Listed, State};
use record::store::date::rfc3339;
use record::versioned::Versioned;
use serde::Serialize;
use std::fmt::Write;

/// Runs on one page.
const ON_A_PAGE: usize = 200;
/// The properties of a scenario in words that the list shows.
const SHOWN: [&str; 4] = ["devices", "connections", "cores", "metrics"];

/// The filter of a request: words, and a state.
struct Filter {
    text: String,
    words: Vec<String>,
    state: Option<State>,
}

impl Filter {
    fn of(query: &Query) -> Filter {
        let text = query.get("q").unwrap_or_default().to_owned();
        let words = text.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let state = query.get("state").and_then(|name| State::ALL.into_iter().find(|state| state.name() == name));
        Filter { text, words, state }
    }

    fn selects(&self, run: &Listed) -> bool {
        self.state.is_none_or(|state| run.state() == state) && run.has(&self.words)
    }
}

/// Returns the page of these runs.
pub(in super::super) fn page(folder: &str, runs: &[Listed], query: &Query) -> String {
    let filter = Filter::of(query);
    let selected: Vec<&Listed> = runs.iter().filter(|run| filter.selects(run)).collect();
    let first = query.get("first").and_then(|first| first.parse().ok()).unwrap_or(0).min(selected.len());
    let shown = &selected[first..selected.len().min(first + ON_A_PAGE)];
    let mut main = format!("<h1>Runs in {}</h1>\n", e(folder));
    form(&mut main, &filter);
    let _ = writeln!(main, "<p class=\"soft\">{}</p>", count(runs.len(), selected.len(), first, shown.len()));
    if !shown.is_empty() {
        main.push_str("<form method=\"get\" action=\"/compare\">\n<ul class=\"runs\">\n");
        for run in shown {
            item(&mut main, run);
        }
        main.push_str("</ul>\n<p class=\"bar\"><button>Compare two selected runs</button></p>\n</form>\n");
    }
    turn(&mut main, query, first, selected.len());
    super::page("Runs", "", &main)
}

fn count(all: usize, selected: usize, first: usize, shown: usize) -> String {
    match (all, selected) {
        (0, _) => "This folder has no runs yet.".to_owned(),
        (_, 0) => format!("None of {all} runs matches."),
        (_, selected) if shown < selected => format!("{} to {} of {selected} runs.", first + 1, first + shown),
        (all, selected) if selected < all => format!("{selected} of {all} runs."),
        (1, _) => "1 run.".to_owned(),
        (all, _) => format!("{all} runs."),
    }
}

fn form(main: &mut String, filter: &Filter) {
    let _ = write!(
        main,
        "<form method=\"get\" action=\"/\" class=\"filter\" role=\"search\">\n\
         <label>Words <input type=\"search\" name=\"q\" value=\"{}\"></label>\n\
         <label>State <select name=\"state\">\n<option value=\"\">all</option>\n",
        e(&filter.text)
    );
    for state in State::ALL {
        let chosen = if filter.state == Some(state) { " selected" } else { "" };
        let _ = writeln!(main, "<option{chosen}>{}</option>", state.name());
    }
    main.push_str("</select></label>\n<button>Filter</button>\n</form>\n");
}

fn item(main: &mut String, run: &Listed) {
    let (name, link, state) = (e(&run.name), encoded(&run.name), run.state());
    let _ = write!(
        main,
        "<li>\n<label class=\"pick\"><input type=\"checkbox\" name=\"run\" value=\"{name}\" aria-label=\"Compare {name}\"></label>\n\
         <div>\n<a class=\"name\" href=\"/run/{link}/\">{name}</a>\n<span class=\"state {}\">{}</span>\n",
        state.name(),
        in_words(run)
    );
    match &run.found {
        Ok(brief) => summary(main, brief, &link, state),
        Err(why) => {
            let _ = writeln!(main, "<p class=\"why\">{}</p>", e(why));
        }
    }
    main.push_str("</div>\n</li>\n");
}

/// The state, with what it says of the results.
fn in_words(run: &Listed) -> String {
    match &run.found {
        Ok(Brief { parts: Some(parts), .. }) => format!("{}: {parts} runs", run.state().name()),
        Ok(brief) => format!("{}: {} of {}", run.state().name(), brief.measured, brief.planned),
        Err(_) => run.state().name().to_owned(),
    }
}

fn summary(main: &mut String, brief: &Brief, link: &str, state: State) {
    let words: Vec<String> =
        SHOWN.iter().filter_map(|name| Some(format!("{name}: {}", brief.words.get(*name)?))).collect();
    let _ = writeln!(main, "<p>{}</p>", e(&words.join(" · ")));
    let live = if state == State::Unfinished {
        format!(" · <a href=\"/run/{link}/live\">live view</a>")
    } else {
        String::new()
    };
    let _ =
        writeln!(main, "<p class=\"soft\">started {} · natmeter {}{live}</p>", e(&brief.started), e(&brief.version));
}

/// Links to the pages before and after.
fn turn(main: &mut String, query: &Query, first: usize, of: usize) {
    let rest = query.without("first");
    let link = |first: usize, word: &str| {
        let sign = if rest.is_empty() { "?" } else { "&" };
        format!("<a href=\"{}\">{word}</a>", e(&format!("/{rest}{sign}first={first}")))
    };
    let earlier = (first > 0).then(|| link(first.saturating_sub(ON_A_PAGE), "Previous"));
    let later = (first + ON_A_PAGE < of).then(|| link(first + ON_A_PAGE, "Next"));
    let links: Vec<String> = earlier.into_iter().chain(later).collect();
    if !links.is_empty() {
        let _ = writeln!(main, "<nav aria-label=\"Pages\">{}</nav>", links.join(" "));
    }
}

/// The list for programs.
#[derive(Serialize)]
struct List<'a> {
    runs: Vec<Entry<'a>>,
}

/// One run of the list.
#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    planned: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// Returns all selected runs as JSON.
pub(in super::super) fn json(runs: &[Listed], query: &Query) -> String {
    let filter = Filter::of(query);
    let list = List { runs: runs.iter().filter(|run| filter.selects(run)).map(entry).collect() };
    serde_json::to_string(&Versioned::of(&list)).unwrap_or_default()
}

fn entry(run: &Listed) -> Entry<'_> {
    let brief = run.found.as_ref().ok();
    Entry {
        name: &run.name,
        state: run.state().name(),
        written: run.written.map(rfc3339),
        scenario: brief.map(|brief| brief.scenario.as_str()),
        started: brief.map(|brief| brief.started.as_str()),
        version: brief.map(|brief| brief.version.as_str()),
        planned: brief.map(|brief| brief.planned),
        measured: brief.map(|brief| brief.measured),
        error: run.found.as_ref().err().map(String::as_str),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn run(name: &str, measured: usize) -> Listed {
        let words = [("name", name), ("devices", "nftables")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        let brief = Brief {
            scenario: name.to_owned(),
            words: BTreeMap::from(words),
            version: "0.1.0".to_owned(),
            started: "2026-01-01T00:00:00Z".to_owned(),
            planned: 4,
            measured,
            has_ended: measured > 0,
            parts: None,
        };
        Listed { name: name.to_owned(), written: None, found: Ok(brief) }
    }

    fn query(text: &str) -> Query {
        Query::of(&format!("/?{text}").parse().unwrap())
    }

    #[test]
    fn a_filter_selects_by_words_and_state() {
        let mut runs = vec![run("a", 4), run("b", 3), run("c<", 0)];
        runs.push(Listed { found: Err("run.json is missing".to_owned()), ..run("d", 0) });
        let names = |text: &str| {
            let list: serde_json::Value = serde_json::from_str(&json(&runs, &query(text))).unwrap();
            let names = list["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap().to_owned());
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(""), "a b c< d");
        assert_eq!(names("q=NFT"), "a b c<");
        assert_eq!(names("state=partial"), "b");
        assert_eq!(names("q=a&state=complete"), "a");
        assert_eq!(names("state=damaged"), "d");
        let page = page("runs", &runs, &query("state=damaged"));
        assert!(
            page.contains("run.json is missing")
                && page.contains("1 of 4 runs.")
                && page.contains("<option selected>damaged")
        );
        let page = self::page("runs", &runs, &query("q=c"));
        assert!(page.contains("/run/c%3C/live\"") && page.contains("c&lt;</a>"));
    }

    #[test]
    fn long_lists_have_pages() {
        let runs: Vec<Listed> = (0..450).map(|n| run(&format!("r{n}"), 4)).collect();
        let count = |page: &str| page.matches("<li>").count();
        let first = page("runs", &runs, &query("q=r"));
        assert!(
            count(&first) == 200
                && first.contains("1 to 200 of 450 runs.")
                && first.contains("/?q=r&amp;first=200\">Next")
        );
        let last = page("runs", &runs, &query("first=400"));
        assert!(count(&last) == 50 && last.contains("/?first=200\">Previous") && !last.contains("Next"));
        assert_eq!(count(&page("runs", &runs, &query("first=99999"))), 0);
    }
}
