//! Reports in the formats of other documents: each is valid for its reader, also with hostile names, and has every value.

use super::{examples, fixture, report, snapshots};
use fixture::Run;
use method::ResultKind;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use record::doubt::Doubt;
use record::folder::SelfTestCheck;
use record::report::number::grouped_f64;
use record::report::result::PointResult;
use record::report::{KNOWN, Report};
use roxmltree::{Document, Node};
use std::collections::{BTreeMap, BTreeSet};

/// Names of foreign files with the special characters of all formats.
const HOSTILE: &str = "<&>\"' | a_b*c `d` $x$ ~ ^ # % {e} \\f [g]\nh,\t-- é 中 \u{1b}[1m\u{202e}\u{ffff}";

/// A run whose names and texts are hostile.
fn hostile() -> Run {
    let mut run = fixture::kernel();
    run.header.scenario.about = HOSTILE.into();
    run.header.scenario.name = HOSTILE.into();
    for measurement in &mut run.header.plan.measurements {
        measurement.point.dut_name = HOSTILE.into();
    }
    for outcome in &mut run.outcomes {
        outcome.measurement.point.dut_name = HOSTILE.into();
        outcome.figures.insert(HOSTILE.to_owned(), 1.0);
    }
    let doubts = [HOSTILE.to_owned(), format!("[1] {HOSTILE}"), format!("*{HOSTILE}"), "1. a".to_owned()];
    run.facts.doubts = doubts.map(Doubt::Other).into();
    run.facts.tester.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    run.facts.tester.insert(String::new(), String::new());
    run
}

/// All example runs, and the hostile one.
fn all() -> Vec<(&'static str, Run)> {
    examples().into_iter().chain([("hostile", hostile())]).collect()
}

fn rendered(run: &Run, format: &str) -> String {
    report(run).render(format).unwrap()
}

#[test]
fn every_format_reads_well() {
    let run = fixture::kernel();
    snapshots(|| {
        for format in KNOWN.iter().filter(|f| !["text", "csv", "json", "html"].contains(&f.name)) {
            insta::assert_snapshot!(format!("format_{}", format.name), rendered(&run, format.name));
        }
    });
}

/// The medians of a report as its tables print them.
fn medians(report: &Report) -> Vec<String> {
    report
        .results
        .iter()
        .filter(|result| !result.nothing_passed())
        .filter_map(PointResult::median)
        .map(grouped_f64)
        .collect()
}

#[test]
fn every_table_has_every_median() {
    for (name, run) in examples() {
        let report = report(&run);
        for format in ["markdown", "latex", "xml2rfc", "xml2rfc-section", "rfc-text"] {
            let text = report.render(format).unwrap();
            for median in medians(&report) {
                assert!(text.contains(&median), "{name} as {format}: {median}");
            }
        }
    }
}

/// Text of the cells of each table in Markdown, and texts of headings.
fn markdown(text: &str) -> (Vec<Vec<Vec<String>>>, Vec<String>) {
    let (mut tables, mut headings): (Vec<Vec<Vec<String>>>, Vec<String>) = (Vec::new(), Vec::new());
    let mut inside = String::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Table(_)) => tables.push(Vec::new()),
            Event::Start(Tag::TableHead | Tag::TableRow) => tables.last_mut().unwrap().push(Vec::new()),
            Event::Start(Tag::TableCell | Tag::Heading { .. }) => inside.clear(),
            Event::End(TagEnd::TableCell) => tables.last_mut().unwrap().last_mut().unwrap().push(inside.clone()),
            Event::End(TagEnd::Heading(_)) => headings.push(inside.clone()),
            Event::Text(text) | Event::Code(text) => inside.push_str(&text),
            Event::Html(html) | Event::InlineHtml(html) => panic!("HTML in Markdown: {html}"),
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Emphasis | Tag::CodeBlock(_)) => {
                panic!("formatted: {event:?}")
            }
            _ => {}
        }
    }
    (tables, headings)
}

#[test]
fn markdown_has_whole_tables_of_the_given_texts() {
    for (name, run) in all() {
        let (tables, headings) = markdown(&rendered(&run, "markdown"));
        assert!(tables.len() > 3, "{name}");
        for table in &tables {
            assert!(table.len() > 1 && table.iter().all(|row| row.len() == table[0].len()), "{name}: {table:?}");
        }
        assert!(headings.iter().any(|heading| heading == "Results"), "{name}: {headings:?}");
    }
    let (tables, _) = markdown(&rendered(&hostile(), "markdown"));
    let doubt = "<&>\"' | a_b*c d $x$ ~ ^ # % {e} \\f [g] h, -- é 中 ";
    assert!(tables.iter().flatten().flatten().any(|cell| cell.starts_with(doubt)), "{tables:?}");
    assert!(tables.iter().flatten().flatten().any(|cell| cell.starts_with(&format!("[1] {doubt}"))), "{tables:?}");
}

#[test]
fn rfc_text_is_ascii_of_72_columns_with_straight_tables() {
    for (name, run) in all() {
        let text = rendered(&run, "rfc-text");
        let mut width = None;
        for line in text.lines() {
            assert!(line.is_ascii() && !line.contains(|c: char| c.is_ascii_control()), "{name}: {line:?}");
            assert!(line.len() <= 72 && line == line.trim_end(), "{name}: {line:?}");
            let is_table = line.starts_with("   +") || line.starts_with("   | ");
            width = if is_table { Some(line.len()) } else { None }.inspect(|now| {
                assert!(width.is_none_or(|before| before == *now), "{name}: {line:?}");
            });
        }
    }
}

/// Wide tables are split, and every part has the row heads.
#[test]
fn a_wide_table_is_split_by_columns() {
    let (_, run) = examples().into_iter().find(|(name, _)| *name == "matrix").unwrap();
    for (format, label) in
        [("rfc-text", "   | median "), ("xml2rfc", "<td>median</td>"), ("latex", "\\textbf{median} &")]
    {
        let text = rendered(&run, format);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let parts = words.matches("1 core (column").count();
        assert!(parts >= 2, "{format}: {text}");
        assert!(text.matches(label).count() >= parts, "{format}: {text}");
    }
}

fn parsed(xml: &str) -> Document<'_> {
    Document::parse(xml).unwrap_or_else(|e| panic!("{e}: {xml}"))
}

fn elements<'a>(document: &'a Document, name: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    document.descendants().filter(move |node| node.has_tag_name(name))
}

#[test]
fn xml2rfc_is_well_formed_ascii_with_unique_anchors_and_whole_rows() {
    for (name, run) in all() {
        for (format, root) in [("xml2rfc", "rfc"), ("xml2rfc-section", "section")] {
            let xml = rendered(&run, format);
            assert!(xml.is_ascii(), "{name} as {format}");
            let document = parsed(&xml);
            assert!(document.root_element().has_tag_name(root), "{name}");
            let mut anchors = BTreeSet::new();
            for anchor in document.descendants().filter_map(|node| node.attribute("anchor")) {
                assert!(anchors.insert(anchor.to_owned()), "{name}: {anchor} twice");
                assert!(anchor.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{anchor}");
            }
            for table in elements(&document, "table") {
                let columns = table.descendants().find(|n| n.has_tag_name("tr")).unwrap().children().count();
                for row in table.descendants().filter(|n| n.has_tag_name("tr")) {
                    let span = |cell: Node| cell.attribute("colspan").map_or(1, |n| n.parse::<usize>().unwrap());
                    assert_eq!(row.children().map(span).sum::<usize>(), columns, "{name}");
                }
            }
        }
    }
    let xml = rendered(&hostile(), "xml2rfc");
    let draft = parsed(&xml).root_element().attribute("docName").unwrap().to_owned();
    assert_eq!(draft, "draft-natmeter-a-b-c-d-x-e-f-g-h-1m-00");
}

/// Balanced groups and environments, and no special character that is not escaped.
#[test]
fn latex_escapes_all_special_characters() {
    for (name, run) in all() {
        let text = rendered(&run, "latex");
        let body = text.split_once("\\begin{document}").unwrap().1;
        let mut depth = 0i32;
        let mut chars = body.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => drop(chars.next()),
                '{' => depth += 1,
                '}' => depth -= 1,
                '#' | '%' | '_' | '^' | '"' | '|' => panic!("{name}: {c} is not escaped"),
                _ => assert!(c.is_ascii() || c.is_alphabetic(), "{name}: {c:?}"),
            }
            assert!(depth >= 0, "{name}");
        }
        assert_eq!((depth, body.matches('$').count() % 2), (0, 0), "{name}");
        let begun = text.matches("\\begin{longtable}").count();
        assert_eq!(begun, text.matches("\\end{longtable}").count(), "{name}");
    }
}

/// The counts of the attributes of an element.
fn counts(node: Node) -> [usize; 4] {
    ["tests", "failures", "errors", "skipped"].map(|name| node.attribute(name).unwrap_or("0").parse().unwrap())
}

/// The attributes and the form of times in junit-10.xsd of Jenkins' xUnit plugin.
fn is_in_schema_of_xunit(node: Node) {
    let known: &[&str] = match node.tag_name().name() {
        "testsuites" => &["name", "time", "tests", "failures", "disabled", "errors"],
        "testsuite" => &[
            "name",
            "tests",
            "failures",
            "errors",
            "group",
            "time",
            "disabled",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
            "file",
            "log",
            "url",
            "version",
        ],
        "testcase" => &["name", "time", "classname", "group"],
        "failure" | "error" | "skipped" => &["type", "message"],
        "property" => &["name", "value"],
        "properties" | "system-out" => &[],
        other => panic!("{other} is not in the schema"),
    };
    for attribute in node.attributes() {
        assert!(known.contains(&attribute.name()), "{} of {}", attribute.name(), node.tag_name().name());
    }
    if let Some(time) = node.attribute("time") {
        let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        assert!(
            time.split_once('.').is_some_and(|(whole, part)| digits(whole) && digits(part) && part.len() == 3),
            "{time}"
        );
    }
}

/// What readers of JUnit XML rely on: the counts are those of the elements, and names are unique in their class.
#[test]
fn junit_counts_what_it_has() {
    for (name, run) in all() {
        let xml = rendered(&run, "junit");
        let document = parsed(&xml);
        let found = |within: Node| {
            ["testcase", "failure", "error", "skipped"]
                .map(|tag| within.descendants().filter(|node| node.has_tag_name(tag)).count())
        };
        assert!(document.root_element().has_tag_name("testsuites"));
        let of_all = found(document.root_element());
        assert_eq!(counts(document.root_element()), [of_all[0], of_all[1], of_all[2], 0], "{name}");
        document.descendants().filter(Node::is_element).for_each(is_in_schema_of_xunit);
        for suite in elements(&document, "testsuite") {
            assert_eq!(counts(suite), found(suite), "{name}");
            assert!(suite.attribute("timestamp").is_some_and(|at| at.len() == 19), "{name}");
        }
        let mut names = BTreeSet::new();
        for case in elements(&document, "testcase") {
            let key = (case.attribute("classname").unwrap().to_owned(), case.attribute("name").unwrap().to_owned());
            assert!(names.insert(key.clone()) || name == "hostile", "{name}: {key:?} twice");
            assert!(case.children().filter(Node::is_element).count() <= 2, "{name}");
        }
        let results = elements(&document, "testsuite").find(|suite| suite.attribute("name") == Some("results"));
        assert_eq!(counts(results.unwrap())[0], report(&run).results.len(), "{name}");
    }
}

/// The elements that say how the first result ended, and the message of the first one.
fn verdict(run: &Run) -> Option<(String, String)> {
    let xml = rendered(run, "junit");
    let document = parsed(&xml);
    let case = elements(&document, "testcase").next().unwrap();
    let verdict = case.children().find(|n| ["failure", "error", "skipped"].contains(&n.tag_name().name()))?;
    Some((verdict.tag_name().name().to_owned(), verdict.attribute("message").unwrap().to_owned()))
}

#[test]
fn junit_says_whose_limit_a_value_is() {
    let with = |kind: ResultKind| {
        let mut run = fixture::quickstart();
        run.outcomes.iter_mut().for_each(|o| o.result.kind = kind);
        run
    };
    let named = |run: &Run| verdict(run).map(|(verdict, _)| verdict);
    for kind in ResultKind::WEAKEST_FIRST {
        let expected = match kind {
            ResultKind::Exact | ResultKind::Observed => None,
            ResultKind::NothingPassed | ResultKind::NoRate => Some("failure"),
            ResultKind::NothingMeasured => Some("error"),
            _ => Some("skipped"),
        };
        assert_eq!(named(&with(kind)).as_deref(), expected, "{kind:?}");
    }
    let (_, reason) = verdict(&with(ResultKind::TesterLimit)).unwrap();
    assert!(reason.starts_with("tester limit: lower bound"), "{reason}");
    // The device reached all that the scenario asks for.
    let mut run = with(ResultKind::AtUpperLimit);
    let limited = "name = \"x\"\n[dut.simulated]\n[sweep]\nconnections = \"10k\"\n[measure]\nmax-rate = \"1k\"\n";
    run.header.scenario.measure.max_rate = fixture::scenario(limited, &[]).measure.max_rate;
    assert_eq!(named(&run), None);
    run.outcomes.clear();
    assert_eq!(named(&run).as_deref(), Some("error"));
}

#[test]
fn junit_fails_with_the_self_test() {
    let mut run = fixture::quickstart();
    let failed = SelfTestCheck { name: "capacity".into(), ..SelfTestCheck::default() };
    run.self_test.checks = vec![failed.clone(), SelfTestCheck { inconclusive: true, ..failed }];
    let xml = rendered(&run, "junit");
    let document = parsed(&xml);
    let suite = elements(&document, "testsuite").find(|suite| suite.attribute("name") == Some("self-test")).unwrap();
    assert_eq!(counts(suite), [2, 0, 1, 1]);
}

/// The fields of a line (RFC 4180).
fn fields(csv: &str) -> Vec<Vec<String>> {
    let (mut lines, mut line, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = csv.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quoted) {
            ('"', true) if chars.peek() == Some(&'"') => field.extend(chars.next()),
            ('"', _) => quoted = !quoted,
            (',', false) => line.push(std::mem::take(&mut field)),
            ('\n', false) => {
                line.push(std::mem::take(&mut field));
                lines.push(std::mem::take(&mut line));
            }
            _ => field.push(c),
        }
    }
    lines
}

/// The fields of a line, by the names of their columns.
type Line = BTreeMap<String, String>;

fn by_column(run: &Run, format: &str) -> Vec<Line> {
    let mut lines = fields(&rendered(run, format)).into_iter();
    let columns = lines.next().unwrap();
    let named = |line: Vec<String>| {
        assert_eq!(line.len(), columns.len());
        columns.iter().cloned().zip(line).collect()
    };
    lines.map(named).collect()
}

/// What a data frame would do: each point's median over the lines of repetitions, beside the line that has the median.
#[test]
fn medians_of_repetitions_of_long_csv_are_those_of_the_report() {
    for (name, run) in examples() {
        let lines = by_column(&run, "csv-long");
        let ends = ["stat", "repetition", "bound", "kind", "value", "error", "low", "high", "coverage", "total"];
        let ends: Vec<&str> = ends.into_iter().chain(["trials", "invalid", "after_s", "how_sure"]).collect();
        let mut groups: BTreeMap<Vec<(&String, &String)>, Vec<&Line>> = BTreeMap::new();
        for line in &lines {
            let point = line.iter().filter(|(column, _)| !ends.contains(&column.as_str()) && *column != "unit");
            groups.entry(point.filter(|(column, _)| *column != "rate_direction").collect()).or_default().push(line);
        }
        let report = report(&run);
        assert_eq!(groups.len(), report.results.len(), "{name}");
        let by_csv = by_column(&run, "csv");
        assert_eq!(by_csv.len(), report.results.len(), "{name}: a line a result");
        for lines in groups.values() {
            let of = |stat: &str| lines.iter().filter(|line| line["stat"] == stat).collect::<Vec<_>>();
            let [median] = of("median")[..] else { panic!("{name}: {lines:?}") };
            let one = &by_csv.iter().find(|line| {
                [("metric", "metric"), ("label", "device"), ("connections", "connections"), ("cpu_cores", "cores")]
                    .iter()
                    .all(|(a, b)| line[*a] == median[*b])
                    && scenario::axis::AXES.iter().all(|axis| {
                        let column = axis.name().replace('-', "_");
                        line[&column] == median[&column]
                    })
            });
            let columns = ["value", "bound", "kind", "low", "high", "coverage", "total", "trials", "invalid"];
            assert_eq!(columns.map(|c| &one.unwrap()[c]), columns.map(|c| &median[c]), "{name}");
            let mut values: Vec<f64> = of("repetition").iter().filter_map(|line| line["value"].parse().ok()).collect();
            values.sort_by(f64::total_cmp);
            // An upper bound is the lowest rate that failed.
            if median["bound"] != "<" && median["kind"] != "no-rate" {
                assert_eq!(method::stats::median_of(&values), median["value"].parse().ok(), "{name}: {median:?}");
            }
        }
    }
}

/// `stat` and `repetition` tell all lines of a result apart, and a bound says what a repetition knows.
#[test]
fn long_csv_has_each_value_once_with_its_bound() {
    for (name, run) in all() {
        let text = rendered(&run, "csv-long");
        let lines = fields(&text);
        let value = lines[0].iter().position(|name| name == "bound").unwrap();
        let keys: BTreeSet<&[String]> = lines.iter().map(|line| &line[..value]).collect();
        assert!(keys.len() == lines.len() || name == "hostile", "{name}: a value is there twice");
    }
    for kind in ResultKind::WEAKEST_FIRST {
        let mut run = fixture::quickstart();
        run.outcomes.iter_mut().for_each(|o| o.result.kind = kind);
        let sign = match kind {
            ResultKind::NothingMeasured | ResultKind::NoRate => "",
            ResultKind::Below => "<",
            kind if kind.at_least() => ">=",
            _ => "=",
        };
        for line in by_column(&run, "csv-long").iter().filter(|line| line["stat"] == "repetition") {
            assert_eq!((line["bound"].as_str(), line["value"].is_empty()), (sign, sign.is_empty()), "{kind:?}");
            assert_eq!(line["kind"], kind.name());
        }
    }
}
