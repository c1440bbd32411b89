//! Horizontal bars with whiskers on a common axis: devices side by side.

use super::{Dot, begin, escaped, range_in_words, text_at, text_width};
use crate::scale::Axis;
use std::fmt::Write;

/// A bar of a figure of bars.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Name of the bar.
    pub label: String,
    /// Length; `None` if there is no value.
    pub value: Option<f64>,
    /// Lowest and highest value.
    pub whisker: Option<(f64, f64)>,
    /// Dots of the repetitions.
    pub dots: Vec<Dot>,
    /// Text after the bar.
    pub text: String,
    /// Class of the style sheet, which gives the colour.
    pub class: String,
}

const ROW: f64 = 34.0;

/// Horizontal bars with whiskers on a common axis.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    /// Unique in a page.
    pub id: String,
    /// What the figure shows.
    pub title: String,
    /// Description for screen readers.
    pub description: String,
    /// Left to right, from zero.
    pub axis: Axis,
    /// Top to bottom.
    pub bars: Vec<Bar>,
    /// Width in pixels of the drawing.
    pub width: f64,
}

impl Bars {
    /// Renders an `<svg>` element.
    pub fn render(&self) -> String {
        let Bars { id, title, description, axis, bars, width } = self;
        let left = bars.iter().map(|b| text_width(&b.label)).fold(0.0, f64::max) + 26.0;
        let right = bars.iter().map(|b| text_width(&b.text)).fold(0.0, f64::max) + 24.0;
        let (inner, bottom) = (width - left - right, 8.0 + ROW * bars.len() as f64);
        let height = bottom + 46.0;
        let mut out = begin(id, "plot", (*width, height), title, description);
        for (value, text) in &axis.ticks {
            let x = left + axis.place(*value, inner);
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} 4V{bottom:.1}\"/>");
            let _ = writeln!(out, "{}", text_at("middle", x, bottom + 17.0, text));
        }
        for (i, bar) in bars.iter().enumerate() {
            let y = 8.0 + ROW * (i as f64 + 0.5);
            let _ = writeln!(out, "{}", text_at("end", left - 8.0, y + 4.0, &bar.label));
            let end = bar.value.map_or(0.0, |v| axis.place(v, inner));
            let mut edge = left + end;
            let _ = write!(out, "<g class=\"{}\">", bar.class);
            let _ = write!(
                out,
                "<rect class=\"bar\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{end:.1}\" height=\"20\"><title>{}</title></rect>",
                y - 10.0,
                escaped(&tooltip(bar, axis))
            );
            if let Some((low, high)) = bar.whisker {
                let (a, b) = (left + axis.place(low, inner), left + axis.place(high, inner));
                edge = edge.max(b);
                let _ = write!(
                    out,
                    "<path class=\"whisker on-bar\" d=\"M{a:.1} {0:.1}H{b:.1}M{a:.1} {1:.1}v8M{b:.1} {1:.1}v8\"/>",
                    y - 4.0,
                    y - 8.0
                );
            }
            for (at, dot) in bar.dots.iter().enumerate() {
                let x = left + axis.place(dot.value, inner);
                out.push_str(&dot.drawn(&bar.label, at, axis, " on-bar", (x, y + 5.0, 2.5)));
            }
            let _ =
                writeln!(out, "</g><text x=\"{:.1}\" y=\"{:.1}\">{}</text>", edge + 8.0, y + 4.0, escaped(&bar.text));
        }
        let _ = writeln!(out, "<path class=\"axis\" d=\"M{left:.1} 4V{bottom:.1}H{:.1}\"/>", left + inner);
        let _ = writeln!(out, "{}\n</svg>", text_at("middle name", left + inner / 2.0, bottom + 37.0, &axis.name()));
        out
    }
}

fn tooltip(bar: &Bar, axis: &Axis) -> String {
    let value = bar.value.map_or_else(|| bar.text.clone(), |value| axis.with_unit(value));
    format!("{}\n{value}{}", bar.label, range_in_words(bar.whisker, axis))
}
