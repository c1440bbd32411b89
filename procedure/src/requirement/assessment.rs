//! The requirements of the metrics of a run, and what it does about them: departures, metrics that no RFC defines, and the label's words.

use super::{Check, Conditions, Document, Finding, Level, Requirement, is_of_an_rfc, of};
use crate::Metric;
use std::fmt::Write;

/// A requirement that concerns a run.
#[derive(Clone, Debug)]
pub struct Compliance {
    /// Document with the requirements.
    pub document: &'static Document,
    /// The requirement.
    pub requirement: &'static Requirement,
    /// Keys of the metrics concerned.
    pub metrics: Vec<&'static str>,
    /// Whether the run meets the requirement.
    pub finding: Finding,
}

/// Something that a run does differently from what a document asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// How binding the requirement is.
    pub level: Level,
    /// What the run does.
    pub what: String,
    /// Words with the source of what is asked.
    pub words: String,
}

/// A metric that natmeter defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnMetric {
    /// Key of the metric.
    pub metric: &'static str,
    /// Why the metric is not that of an RFC.
    pub why: String,
}

/// A run, held against the requirements of its metrics.
#[derive(Clone, Debug)]
pub struct Assessment {
    /// Requirements that depend on the run and concern it, and those that no run meets.
    pub compliances: Vec<Compliance>,
    /// What it does differently, each once, the most binding first.
    pub departures: Vec<Departure>,
    /// Metrics that natmeter defines, because no RFC does.
    pub own: Vec<OwnMetric>,
    /// Keys of the metrics that RFCs define.
    pub of_rfcs: Vec<&'static str>,
    /// Whether it is a run with `--full`.
    full: bool,
}

impl Assessment {
    /// Judges a run by its metrics, each with its conditions.
    pub fn of(metrics: &[(&'static Metric, Conditions)], full: bool) -> Assessment {
        let mut assessment =
            Assessment { compliances: Vec::new(), departures: Vec::new(), own: Vec::new(), of_rfcs: Vec::new(), full };
        for (metric, conditions) in metrics {
            assessment.add(metric, conditions);
        }
        assessment.departures.sort_by_key(|departure| departure.level);
        assessment
    }

    fn add(&mut self, metric: &'static Metric, conditions: &Conditions) {
        let mut another = (!is_of_an_rfc(metric)).then(|| "no RFC has it".to_owned());
        for (document, requirement) in of(metric) {
            let finding = match requirement.check {
                Check::If(check) => check(conditions),
                Check::Named(words) => Finding::NotMet(words.to_owned()),
                Check::Met(_) | Check::NotApplicable(_) => continue,
            };
            match &finding {
                Finding::NotApplicable => continue,
                Finding::NotMet(words) if matches!(requirement.check, Check::If(_)) => {
                    self.depart(document, requirement, words);
                }
                Finding::AnotherMetric(words) => {
                    another = Some(format!("{words}{}", source(document, requirement)));
                }
                _ => {}
            }
            self.check(document, requirement, metric, finding);
        }
        match another {
            Some(why) => self.own.push(OwnMetric { metric: metric.key, why }),
            None => self.of_rfcs.push(metric.key),
        }
    }

    fn depart(&mut self, document: &Document, requirement: &Requirement, words: &str) {
        let departure = Departure {
            level: requirement.level,
            what: words.to_owned(),
            words: format!("{words}{}", source(document, requirement)),
        };
        // Several requirements may ask for one thing: the most binding one stands for all.
        match self.departures.iter_mut().find(|known| known.what == departure.what) {
            Some(known) if departure.level < known.level => *known = departure,
            Some(_) => {}
            None => self.departures.push(departure),
        }
    }

    fn check(
        &mut self,
        document: &'static Document,
        requirement: &'static Requirement,
        metric: &'static Metric,
        finding: Finding,
    ) {
        let is_same = |c: &&mut Compliance| std::ptr::eq(c.requirement, requirement) && c.finding == finding;
        match self.compliances.iter_mut().find(is_same) {
            Some(checked) => checked.metrics.push(metric.key),
            None => self.compliances.push(Compliance { document, requirement, metrics: vec![metric.key], finding }),
        }
    }

    /// Whether every metric is defined by RFCs and meets every MUST and every definition; without
    /// `--full`, which has no reason for another course but haste, every SHOULD, too.
    pub fn conforms(&self) -> bool {
        let binds = |departure: &Departure| !self.full || departure.level != Level::Should;
        self.own.is_empty() && !self.departures.iter().any(binds)
    }

    /// The RFCs whose requirements it was held against.
    pub fn documents(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = Vec::new();
        let is_decisive = |c: &&Compliance| c.document.is_rfc && matches!(c.requirement.check, Check::If(_));
        for checked in self.compliances.iter().filter(is_decisive) {
            if !names.contains(&checked.document.name) {
                names.push(checked.document.name);
            }
        }
        names.sort_unstable();
        names
    }

    /// What it does differently, and which metrics no RFC defines, one sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let own = self.own.iter().map(|own| format!("{} is defined by natmeter: {}", own.metric, own.why));
        self.departures.iter().map(|departure| departure.words.clone()).chain(own).collect()
    }

    /// The procedure in a few words, for labels.
    pub fn label(&self) -> String {
        let departures = self.departures.len();
        let recommendations = self.departures.iter().filter(|d| d.level == Level::Should).count();
        let mut words = match (self.of_rfcs.is_empty(), self.full) {
            (true, false) => "quick, procedure defined by natmeter".to_owned(),
            (true, true) => "procedure defined by natmeter".to_owned(),
            (_, false) if departures > 0 => "quick, not RFC 2544".to_owned(),
            _ if departures > recommendations => "procedure".to_owned(),
            _ => "procedure conforms".to_owned(),
        };
        let _ = match departures {
            0 => Ok(()),
            _ if !self.full => Ok(()),
            n if n == recommendations && !self.of_rfcs.is_empty() => {
                write!(words, " but for {}", counted(n, "recommendation"))
            }
            n => write!(words, " with {}", counted(n, "departure")),
        };
        if !self.of_rfcs.is_empty() && !self.own.is_empty() {
            let own: Vec<&str> = self.own.iter().map(|own| own.metric).collect();
            let _ = write!(words, ", {} defined by natmeter", own.join(" and "));
        }
        words
    }
}

fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

fn source(document: &Document, requirement: &Requirement) -> String {
    let key_word = requirement.level.key_word().filter(|_| document.is_rfc);
    let key_word = key_word.map(|word| format!(": {word}")).unwrap_or_default();
    match (document.name, requirement.section) {
        ("", _) => String::new(),
        (name, "") => format!(" ({name}{key_word})"),
        (name, section) => format!(" ({name}, section {section}{key_word})"),
    }
}
