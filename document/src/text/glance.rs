//! The first screen of a report as text: at most 24 lines for a run of up to four points.

use super::{Page, blocks, padded, right, width};
use crate::glance::{Answer, AnswerRow, Glance};
use crate::number::plural;

/// Lines of the answers that a small screen has room for.
const ROOM: usize = 11;
/// Lines of a small screen, without those that a command adds.
const LINES: usize = 19;
/// Points from which on a run is a campaign, with a line for each.
const CAMPAIGN: usize = 5;
const LONGEST_BAR: usize = 20;

/// Writes the first screen, and of doubts and further reasons those that fit.
pub(super) fn write(page: &mut Page, glance: &Glance) {
    page.paragraph("", &glance.measured.join(", "));
    page.paragraph("", &glance.on.join(" · "));
    page.paragraph("", &glance.done.join(" · "));
    page.line("");
    let points = glance.answers.iter().map(|answer| answer.rows.len()).max().unwrap_or(0);
    let lines: usize = glance.answers.iter().map(|answer| 1 + answer.rows.len()).sum();
    let is_short = points < CAMPAIGN && lines > ROOM;
    for answer in &glance.answers {
        page.justified(&answer.title, &answer.figures);
        if is_short { joined(page, answer) } else { rows(page, answer) }
    }
    page.paragraphs("", &glance.remarks);
    page.line("");
    let why = glance.reasons.first().map_or_else(String::new, |first| format!(" {first}."));
    page.paragraph("How sure?  ", &format!("{}.{why}", glance.word));
    let doubts = glance.doubts.iter().map(|doubt| ("! ", doubt.clone()));
    let reasons = glance.reasons.iter().skip(1).map(|reason| ("  ", format!("{reason}.")));
    let lines = if (1..CAMPAIGN).contains(&points) { LINES } else { usize::MAX };
    as_many_as_fit(page, &doubts.chain(reasons).collect::<Vec<_>>(), lines);
}

/// Paragraphs until the screen is full, and how many are left.
fn as_many_as_fit(page: &mut Page, all: &[(&str, String)], lines: usize) {
    for (at, (mark, text)) in all.iter().enumerate() {
        let before = page.out.len();
        page.paragraph(mark, text);
        let is_last = at + 1 == all.len();
        if page.out.lines().count() + usize::from(!is_last) > lines {
            page.out.truncate(before);
            let left = plural((all.len() - at) as u64, "more line");
            return page.line(&format!("  {left} with `--verbose`"));
        }
    }
}

fn rows(page: &mut Page, answer: &Answer) {
    let widest = |of: fn(&AnswerRow) -> &str| answer.rows.iter().map(|row| width(of(row))).max().unwrap_or(0);
    let (point, value) = (widest(|row| &row.point), widest(|row| &row.value));
    let bar = page.columns.saturating_sub(point + value + 6).min(LONGEST_BAR);
    for row in &answer.rows {
        let drawn = row.permille.filter(|_| bar > 3).map(|permille| blocks(f64::from(permille) / 1000.0, bar));
        let drawn = drawn.map_or_else(String::new, |drawn| padded(&drawn, bar) + "  ");
        page.paragraph(&format!("  {}  {drawn}", padded(&row.point, point)), &right(&row.value, value));
    }
}

/// All points of a metric on one line.
fn joined(page: &mut Page, answer: &Answer) {
    let each = answer.rows.iter().map(|row| format!("{} {}", row.point, row.value).trim().to_owned());
    page.paragraph("  ", &each.collect::<Vec<_>>().join("; "));
}
