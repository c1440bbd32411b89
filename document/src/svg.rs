//! Figures as SVG text: axes with round ticks, marks that show their values, whiskers, a legend, and names for screen readers.
//! `figure` chooses the figures of a report.

mod bars;
mod strips;

use crate::number::si;
use crate::quantity::Bound;
use crate::scale::{Axis, digits};
pub use bars::{Bar, Bars};
use std::fmt::Write;
pub use strips::{Strip, Strips};

/// Shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// ●
    Circle,
    /// ■
    Square,
    /// ▲
    Triangle,
    /// ◆
    Diamond,
    /// ✕
    Cross,
    /// ＋
    Plus,
}

/// Shapes of series, in order.
pub const SHAPES: [Shape; 4] = [Shape::Circle, Shape::Square, Shape::Triangle, Shape::Diamond];

/// Place of the printed values of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Labels {
    /// Nowhere.
    #[default]
    None,
    /// Values stand above the marks.
    Above,
    /// Values stand below the marks, to the right.
    Below,
}

/// A single repetition.
#[derive(Clone, Copy, Debug)]
pub struct Dot {
    /// Value of the dot.
    pub value: f64,
    /// Bound of the value, drawn hollow.
    pub bound: Bound,
}

impl Dot {
    /// Returns a circle at a place, with a radius. Its title has its number, counted from 0, and its value on an axis.
    fn drawn(self, of: &str, number: usize, axis: &Axis, class: &str, (x, y, radius): (f64, f64, f64)) -> String {
        let hollow = if self.bound.is_one_sided() { " hollow" } else { "" };
        let tooltip = format!("{of}, repetition {}\n{}", number + 1, axis.with_unit(self.value));
        let tooltip = escaped(tooltip.trim_start());
        format!(
            "<circle class=\"dot{hollow}{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"><title>{tooltip}</title></circle>"
        )
    }
}

/// A point with whisker and repetitions.
#[derive(Clone, Debug)]
pub struct Point {
    /// Position on the x axis.
    pub x: f64,
    /// Position on the y axis.
    pub y: f64,
    /// Lowest and highest value.
    pub whisker: Option<(f64, f64)>,
    /// What bounds it: a bound is drawn hollow, with an arrow to where the value lies.
    pub bound: Bound,
    /// Repetitions, drawn beside the mark.
    pub dots: Vec<Dot>,
    /// Tooltip of its mark; by default its values with the units of the axes.
    pub tooltip: Option<String>,
}

impl Point {
    /// A point alone.
    pub fn at(x: f64, y: f64) -> Point {
        Point { x, y, whisker: None, bound: Bound::Exact, dots: Vec::new(), tooltip: None }
    }
}

/// A series of points.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in the legend; empty for none.
    pub name: String,
    /// Class of the style sheet, which gives the colour.
    pub class: String,
    /// Mark; `None` for a line alone.
    pub shape: Option<Shape>,
    /// Whether the points are joined.
    pub joined: bool,
    /// The points.
    pub points: Vec<Point>,
}

impl Series {
    /// A line without marks, such as that of a model: `ideal` for what would be, `fitted` for what a model says.
    pub fn line(name: String, class: String, points: Vec<Point>) -> Series {
        Series { name, class, shape: None, joined: true, points }
    }

    /// A series with marks, whose colour and shape follow from its place.
    pub fn marked(at: usize, name: String, points: Vec<Point>) -> Series {
        Series { name, class: format!("s{}", at % 6), shape: Some(SHAPES[at % SHAPES.len()]), joined: true, points }
    }

    /// Returns marks of one kind, such as trials that passed. Without points, they have no name in the legend.
    pub fn marks(name: &str, class: &str, shape: Shape, points: Vec<Point>) -> Series {
        let name = if points.is_empty() { String::new() } else { name.to_owned() };
        Series { name, class: class.to_owned(), shape: Some(shape), joined: false, points }
    }

    /// The classes of its group. Lines without marks have patterns, because colours alone do not tell them apart.
    fn classes(&self) -> String {
        if self.shape.is_none() && self.joined { format!("{} bare", self.class) } else { self.class.clone() }
    }
}

/// A figure.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// Unique in a page.
    pub id: String,
    /// What the figure shows.
    pub title: String,
    /// Description for screen readers.
    pub description: String,
    /// Left to right.
    pub x: Axis,
    /// Bottom to top.
    pub y: Axis,
    /// A band behind everything: x, and the lowest and highest y from there to the next.
    pub band: Vec<(f64, f64, f64)>,
    /// Name of the band in the legend.
    pub band_name: &'static str,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Place of the marks' values, if they have any.
    pub labels: Labels,
    /// Width and height in pixels of the drawing.
    pub size: (f64, f64),
}

/// The highest value of series, with their whiskers.
pub fn highest(series: &[Series]) -> f64 {
    let points = series.iter().flat_map(|series| &series.points);
    points.map(|point| point.whisker.map_or(point.y, |(_, high)| high)).fold(0.0, f64::max)
}

/// Series in words, for screen readers; `point` says one of their points.
pub fn in_words(series: &[Series], point: impl Fn(&Point) -> String) -> String {
    let said = series.iter().filter(|series| !series.points.is_empty()).map(|series| {
        let points: Vec<String> = series.points.iter().map(&point).collect();
        format!("{}: {}", series.name, points.join(", "))
    });
    said.collect::<Vec<_>>().join("; ")
}

/// Font size; must equal that of the style sheet.
const LETTER: f64 = 12.0;
/// Room for one line of the legend.
const LEGEND_LINE: f64 = 20.0;

/// Estimated width of a text: narrow enough to keep labels together, wide enough to keep them apart.
pub fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER * 0.56
}

/// Returns the name of an axis, or only its unit if the name is wider than `length`.
fn name_within(axis: &Axis, length: f64) -> String {
    let name = axis.name();
    if text_width(&name) > length { axis.short_name() } else { name }
}

/// A name that fits into a width; empty if hardly any of it does.
pub fn shortened(name: &str, width: f64) -> String {
    if text_width(name) <= width {
        return name.to_owned();
    }
    let letters = name.chars().count();
    let fit = (0..letters).rev().find(|n| text_width(name) / letters as f64 * (*n as f64 + 1.5) <= width).unwrap_or(0);
    if fit < 3 { String::new() } else { name.chars().take(fit).chain(['…']).collect() }
}

/// The beginning of a drawing, with its name and description.
pub fn begin(id: &str, class: &str, (width, height): (f64, f64), title: &str, description: &str) -> String {
    format!(
        "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-labelledby=\"{id}-t {id}-d\" xmlns=\"http://www.w3.org/2000/svg\">\n\
         <title id=\"{id}-t\">{}</title>\n<desc id=\"{id}-d\">{}</desc>\n",
        escaped(title),
        escaped(description)
    )
}

/// A text inside SVG or HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns a text of a class at a place.
fn text_at(class: &str, x: f64, y: f64, text: &str) -> String {
    format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(text))
}

/// Returns the name of a vertical axis, turned and centred at a place.
fn upright(x: u32, y: f64, name: &str) -> String {
    let turned = format!("translate({x} {y:.1}) rotate(-90)");
    format!("<text class=\"middle name\" transform=\"{turned}\">{}</text>", escaped(name))
}

/// Returns a range in words, to follow its value; an empty text without a range.
fn range_in_words(range: Option<(f64, f64)>, axis: &Axis) -> String {
    range.map_or_else(String::new, |(low, high)| format!("\nrange {} to {}", digits(low), axis.with_unit(high)))
}

/// The inner rectangle of a plot.
#[derive(Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Plot {
    /// Renders an `<svg>` element.
    pub fn render(&self) -> String {
        let legend = self.legend();
        let lines = legend.last().map_or(0.0, |l| l.2 + 1.0);
        // Further lines of the legend take no room from the axes.
        let (width, height) = (self.size.0, self.size.1 + (lines - 1.0).max(0.0) * LEGEND_LINE);
        let widest = self.y.ticks.iter().map(|(_, text)| text_width(text)).fold(0.0, f64::max);
        let left = widest + 34.0;
        let top = 10.0 + lines * LEGEND_LINE;
        let frame = Frame { left, top, width: width - left - 22.0, height: height - top - 46.0 };
        let mut out = begin(&self.id, "plot", (width, height), &self.title, &self.description);
        self.draw_legend(&mut out, &legend);
        self.draw_axes(&mut out, frame);
        self.draw_band(&mut out, frame);
        for series in &self.series {
            self.draw_series(&mut out, frame, series);
        }
        out.push_str("</svg>\n");
        out
    }

    fn at(&self, frame: Frame, x: f64, y: f64) -> (f64, f64) {
        (frame.left + self.x.place(x, frame.width), frame.top + frame.height - self.y.place(y, frame.height))
    }

    /// Entries with column position and line.
    fn legend(&self) -> Vec<(usize, f64, f64)> {
        let (mut x, mut line, mut entries) = (8.0, 0.0, Vec::new());
        let names = self.series.iter().map(|s| s.name.as_str()).chain([self.band_name]);
        for (i, name) in names.enumerate().filter(|(_, name)| !name.is_empty()) {
            let width = text_width(name) + 40.0;
            if x > 8.0 && x + width > self.size.0 {
                (x, line) = (8.0, line + 1.0);
            }
            entries.push((i, x, line));
            x += width;
        }
        entries
    }

    fn draw_legend(&self, out: &mut String, legend: &[(usize, f64, f64)]) {
        for &(i, x, line) in legend {
            let y = 12.0 + line * LEGEND_LINE;
            let name = if let Some(series) = self.series.get(i) {
                let _ = write!(out, "<g class=\"{}\">", series.classes());
                if series.joined {
                    let _ = write!(out, "<path class=\"line\" d=\"M{x:.1} {y:.1}h22\"/>");
                }
                if let Some(shape) = series.shape {
                    draw_mark(out, shape, x + 11.0, y, false);
                }
                out.push_str("</g>");
                series.name.as_str()
            } else {
                let _ =
                    write!(out, "<rect class=\"band\" x=\"{x:.1}\" y=\"{:.1}\" width=\"22\" height=\"10\"/>", y - 5.0);
                self.band_name
            };
            let fits = shortened(name, self.size.0 - x - 28.0);
            let whole = if fits == name { String::new() } else { format!("<title>{}</title>", escaped(name)) };
            let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\">{whole}{}</text>", x + 28.0, y + 4.0, escaped(&fits));
        }
    }

    fn draw_axes(&self, out: &mut String, f: Frame) {
        let bottom = f.top + f.height;
        for (value, text) in &self.y.ticks {
            let y = self.at(f, self.x.range.0, *value).1;
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{:.1} {y:.1}h{:.1}\"/>", f.left, f.width);
            let _ = writeln!(out, "{}", text_at("end", f.left - 7.0, y + 4.0, text));
        }
        let mut free = f64::MIN;
        for (value, text) in &self.x.ticks {
            let x = self.at(f, *value, self.y.range.0).0;
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {:.1}v{:.1}\"/>", f.top, f.height);
            // A label that would touch the one before it is left out; its grid line stays.
            let half = text_width(text) / 2.0;
            if x - half >= free {
                let _ = writeln!(out, "{}", text_at("middle", x, bottom + 17.0, text));
                free = x + half + 6.0;
            }
        }
        let (left, right) = (f.left, f.left + f.width);
        let _ = writeln!(out, "<path class=\"axis\" d=\"M{left:.1} {:.1}V{bottom:.1}H{right:.1}\"/>", f.top);
        let (cx, cy) = (f.left + f.width / 2.0, f.top + f.height / 2.0);
        let _ = writeln!(out, "{}", text_at("middle name", cx, bottom + 37.0, &self.x.name()));
        let _ = writeln!(out, "{}", upright(14, cy, &name_within(&self.y, f.height + 30.0)));
    }

    fn draw_band(&self, out: &mut String, f: Frame) {
        for (i, &(x, low, high)) in self.band.iter().enumerate() {
            let end = self.band.get(i + 1).map_or(self.x.range.1, |next| next.0);
            let ((x0, y0), (x1, y1)) = (self.at(f, x, high), self.at(f, end, low));
            let _ = writeln!(
                out,
                "<rect class=\"band\" x=\"{x0:.1}\" y=\"{y0:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                x1 - x0,
                (y1 - y0).max(1.0)
            );
        }
    }

    fn draw_series(&self, out: &mut String, f: Frame, series: &Series) {
        let _ = writeln!(out, "<g class=\"{}\">", series.classes());
        let places: Vec<(f64, f64)> = series.points.iter().map(|p| self.at(f, p.x, p.y)).collect();
        if series.joined && places.len() > 1 {
            let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            let _ = writeln!(out, "<path class=\"line\" d=\"M{}\"/>", path.join("L"));
        }
        for (point, &(x, y)) in series.points.iter().zip(&places) {
            if let Some((low, high)) = point.whisker {
                let (bottom, top) = (self.at(f, point.x, low).1, self.at(f, point.x, high).1);
                let _ = writeln!(
                    out,
                    "<path class=\"whisker\" d=\"M{x:.1} {bottom:.1}V{top:.1}M{0:.1} {bottom:.1}h8M{0:.1} {top:.1}h8\"/>",
                    x - 4.0
                );
            }
            let arrow = match point.bound {
                Bound::AtLeast => "v-20m-4 5l4 -5l4 5",
                Bound::AtMost | Bound::LessThan => "v20m-4 -5l4 5l4 -5",
                Bound::Exact | Bound::Strict => "",
            };
            if !arrow.is_empty() {
                let _ = writeln!(out, "<path class=\"whisker\" d=\"M{x:.1} {y:.1}{arrow}\"/>");
            }
            for (i, dot) in point.dots.iter().enumerate() {
                // Beside the whisker, alternately, so that equal values stay visible.
                let (x, y) = (x + 9.0 + 4.0 * (i % 2) as f64, self.at(f, point.x, dot.value).1);
                out.push_str(&dot.drawn(&series.name, i, &self.y, "", (x, y, 2.2)));
            }
            if let Some(shape) = series.shape {
                let _ = write!(out, "<g><title>{}</title>", escaped(&self.tooltip(series, point)));
                draw_mark(out, shape, x, y, point.bound.is_one_sided());
                out.push_str("</g>");
                self.draw_label(out, f, point);
                out.push('\n');
            }
        }
        out.push_str("</g>\n");
    }

    /// Tooltip of a mark: series, and the values on both axes with their units.
    fn tooltip(&self, series: &Series, point: &Point) -> String {
        if let Some(tooltip) = &point.tooltip {
            return tooltip.clone();
        }
        let (bound, range) = (point.bound.sign(), range_in_words(point.whisker, &self.y));
        let tooltip =
            format!("{}\n{}\n{bound}{}{range}", series.name, self.x.with_unit(point.x), self.y.with_unit(point.y));
        tooltip.trim_start().to_owned()
    }

    fn draw_label(&self, out: &mut String, f: Frame, point: &Point) {
        let (low, high) = point.whisker.unwrap_or((point.y, point.y));
        let (x, y) = self.at(f, point.x, point.y);
        let (class, x, y) = match self.labels {
            Labels::None => return,
            Labels::Above if point.bound == Bound::AtLeast => {
                ("middle", x, self.at(f, point.x, high).1.min(y - 16.0) - 9.0)
            }
            Labels::Above => ("middle", x, self.at(f, point.x, high).1 - 9.0),
            Labels::Below => ("begin", x + 4.0, self.at(f, point.x, low).1 + 17.0),
        };
        out.push_str(&text_at(class, x, y, &format!("{}{}", point.bound.sign(), si(point.y, 3))));
    }
}

fn draw_mark(out: &mut String, shape: Shape, x: f64, y: f64, hollow: bool) {
    let class = if hollow { "mark hollow" } else { "mark" };
    let _ = match shape {
        Shape::Circle => write!(out, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>"),
        Shape::Square => write!(out, "<path class=\"{class}\" d=\"M{:.1} {:.1}h7v7h-7z\"/>", x - 3.5, y - 3.5),
        Shape::Triangle => write!(out, "<path class=\"{class}\" d=\"M{x:.1} {:.1}l4.5 8h-9z\"/>", y - 4.8),
        Shape::Diamond => write!(out, "<path class=\"{class}\" d=\"M{x:.1} {:.1}l5 5l-5 5l-5 -5z\"/>", y - 5.0),
        Shape::Cross => write!(out, "<path class=\"cross\" d=\"M{0:.1} {1:.1}l7 7m0 -7l-7 7\"/>", x - 3.5, y - 3.5),
        Shape::Plus => {
            write!(out, "<path class=\"cross\" d=\"M{0:.1} {y:.1}h10M{x:.1} {1:.1}v10\"/>", x - 5.0, y - 5.0)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_page() {
        assert_eq!(escaped("<b>&\"x\"</b>"), "&lt;b&gt;&amp;&quot;x&quot;&lt;/b&gt;");
    }
}
