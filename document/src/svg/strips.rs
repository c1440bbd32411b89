//! Strips over a common time axis, such as one for each core. The height of a strip's area is a share in percent. Spans of time
//! are marked over all strips, with their names.

use super::{begin, escaped, text_at, text_width, upright};
use crate::number::significant;
use crate::scale::Axis;
use std::fmt::Write;

const ROW: f64 = 40.0;
const GAP: f64 = 8.0;
/// Room above the strips, for the names of the spans.
const TOP: f64 = 24.0;
/// Room below them, for the axis.
const BOTTOM: f64 = 46.0;

/// One row of the figure.
#[derive(Clone, Debug)]
pub struct Strip {
    /// Name of the strip.
    pub label: String,
    /// End of each sample on the x axis, and its share in percent.
    pub samples: Vec<(f64, f64)>,
    /// Tooltip of the area.
    pub tooltip: String,
}

/// A figure of strips.
#[derive(Clone, Debug)]
pub struct Strips {
    /// Unique in a page.
    pub id: String,
    /// What the figure shows.
    pub title: String,
    /// Description for screen readers.
    pub description: String,
    /// Left to right, from zero.
    pub x: Axis,
    /// Name of the y axis.
    pub y_name: &'static str,
    /// Spans of time: start, end, name.
    pub spans: Vec<(f64, f64, &'static str)>,
    /// Top to bottom.
    pub rows: Vec<Strip>,
    /// Width in pixels of the drawing.
    pub width: f64,
}

impl Strips {
    /// Renders an `<svg>` element.
    pub fn render(&self) -> String {
        let left = self.rows.iter().map(|row| text_width(&row.label)).fold(0.0, f64::max) + 68.0;
        let inner = self.width - left - 40.0;
        let bottom = TOP + (ROW + GAP) * self.rows.len() as f64;
        let size = (self.width, bottom + BOTTOM);
        let mut out = begin(&self.id, "plot", size, &self.title, &self.description);
        for &(from, to, name) in &self.spans {
            self.draw_span(&mut out, (from, to, name), (left, inner), bottom);
        }
        for (i, row) in self.rows.iter().enumerate() {
            let base = TOP + ROW + (ROW + GAP) * i as f64;
            self.draw_row(&mut out, row, (left, inner), base);
        }
        self.draw_axis(&mut out, (left, inner), bottom);
        out.push_str("</svg>\n");
        out
    }

    fn draw_span(&self, out: &mut String, (from, to, name): (f64, f64, &str), (left, inner): (f64, f64), bottom: f64) {
        let [a, b] = [from, to].map(|time| left + self.x.place(time, inner));
        let start_text = significant(from, 3);
        let _ = write!(
            out,
            "<g class=\"span\"><title>{name}: {start_text} to {}</title><rect x=\"{a:.1}\" y=\"4\" width=\"{:.1}\" height=\"{:.1}\"/>\
             <path d=\"M{a:.1} 4V{bottom:.1}M{b:.1} 4V{bottom:.1}\"/>",
            escaped(&self.x.with_unit(to)),
            (b - a).max(0.0),
            bottom - 4.0
        );
        // A name that does not fit appears in the tooltip only.
        if text_width(name) + 6.0 <= b - a {
            let _ = write!(out, "<text class=\"middle\" x=\"{:.1}\" y=\"17\">{name}</text>", f64::midpoint(a, b));
        }
        out.push_str("</g>\n");
    }

    fn draw_row(&self, out: &mut String, row: &Strip, (left, inner): (f64, f64), base: f64) {
        let _ = writeln!(out, "{}", text_at("end", left - 40.0, base - ROW / 2.0 + 4.0, &row.label));
        for (share, text) in [(0.0, "0 %"), (1.0, "100 %")] {
            let y = base - ROW * share;
            let tick = text_at("end tick", left - 4.0, y + if share > 0.0 { 9.0 } else { 0.0 }, text);
            let _ = write!(out, "<path class=\"grid\" d=\"M{left:.1} {y:.1}h{inner:.1}\"/>{tick}");
        }
        let mut path = format!("M{left:.1} {base:.1}");
        let mut from = left;
        for &(end, share) in &row.samples {
            let (x, y) = (left + self.x.place(end, inner), base - ROW * share / 100.0);
            let _ = write!(path, "L{from:.1} {y:.1}H{x:.1}");
            from = x;
        }
        let tooltip = escaped(&row.tooltip);
        let _ = writeln!(out, "<path class=\"area s0\" d=\"{path}V{base:.1}Z\"><title>{tooltip}</title></path>");
    }

    fn draw_axis(&self, out: &mut String, (left, inner): (f64, f64), bottom: f64) {
        for (value, text) in &self.x.ticks {
            let x = left + self.x.place(*value, inner);
            let tick = text_at("middle", x, bottom + 17.0, text);
            let _ = writeln!(out, "<path class=\"axis\" d=\"M{x:.1} {bottom:.1}v4\"/>{tick}");
        }
        let _ = writeln!(out, "<path class=\"axis\" d=\"M{left:.1} {bottom:.1}h{inner:.1}\"/>");
        let _ = writeln!(out, "{}", text_at("middle name", left + inner / 2.0, bottom + 37.0, &self.x.name()));
        let _ = writeln!(out, "{}", upright(12, f64::midpoint(TOP, bottom), self.y_name));
    }
}
