//! The figures of a page, in the order of their kinds.

use super::{Page, about, e};
use crate::report::figure::{COMPARISONS, DETAILS, Figure, Kind};
use crate::report::{Report, number};
use std::fmt::Write;

/// Largest number of figures of a kind of [`DETAILS`] that are visible at once. More can be opened, and are not on paper.
const VISIBLE: usize = 6;

/// Writes all figures.
pub(super) fn write(out: &mut String, page: &Page<'_>) {
    let report = page.report;
    for kind in COMPARISONS {
        of_kind(out, report, kind, usize::MAX);
    }
    for section in page.sections.iter().filter(|section| !section.figures.is_empty()) {
        let _ = writeln!(out, "<h3>{}</h3>", e(&section.title));
        about(out, report, &section.about);
        draw(out, &section.figures);
    }
    for kind in DETAILS {
        of_kind(out, report, kind, VISIBLE);
    }
}

fn of_kind(out: &mut String, report: &Report, kind: &Kind, visible: usize) {
    let figures = (kind.draw)(report);
    if figures.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h3>{}</h3>\n<p class=\"meta\">{}</p>", e(kind.heading), e(kind.about));
    if figures.len() <= visible {
        return draw(out, &figures);
    }
    let count = number::plural(figures.len() as u64, "figure");
    let _ = writeln!(
        out,
        "<p class=\"paper\">{count} in the page, not on paper.</p>\n<details class=\"screen\">\n<summary>{count}</summary>"
    );
    draw(out, &figures);
    out.push_str("</details>\n");
}

/// Narrow figures stand in pairs.
fn draw(out: &mut String, figures: &[Figure]) {
    for same in figures.chunk_by(|a, b| a.wide == b.wide) {
        let wide = same.first().is_some_and(|figure| figure.wide);
        if !wide {
            out.push_str("<div class=\"pair\">\n");
        }
        for Figure { caption, svg, .. } in same {
            let (begin, end) = if wide {
                (
                    format!("<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"{}\">", e(caption)),
                    "</div>\n",
                )
            } else {
                (String::new(), "")
            };
            let class = if wide { " class=\"wide\"" } else { "" };
            let _ =
                write!(out, "<figure{class}>\n{begin}{svg}{end}<figcaption>{}</figcaption>\n</figure>\n", e(caption));
        }
        if !wide {
            out.push_str("</div>\n");
        }
    }
}
