//! A flame graph as SVG text: a box for each function of the call stacks, as wide as its share of the samples, above the
//! function that called it. Boxes of one caller are in the order of their names, so that the same samples give the same
//! drawing.

use crate::number::{grouped, percent};
use crate::svg::{begin, escaped, shortened};
use std::collections::BTreeMap;
use std::fmt::Write;

const ROW: f64 = 18.0;
/// Boxes that are narrower are left out.
const NARROWEST: f64 = 0.4;
const PADDING: f64 = 6.0;
/// Classes of the style sheet. The octets of a function's name choose one, and with it the colour.
const CLASSES: [&str; 3] = ["s1", "s4", "s3"];

/// A function with those that it calls.
#[derive(Default)]
struct Node<'a> {
    samples: u64,
    calls: BTreeMap<&'a str, Node<'a>>,
}

impl<'a> Node<'a> {
    fn of(stacks: &'a BTreeMap<String, u64>) -> Node<'a> {
        let mut root = Node::default();
        for (stack, samples) in stacks {
            root.samples = root.samples.saturating_add(*samples);
            let mut node = &mut root;
            for name in stack.split(';') {
                node = node.calls.entry(name).or_default();
                node.samples = node.samples.saturating_add(*samples);
            }
        }
        root
    }

    /// Rows of its boxes that are wide enough.
    fn rows(&self, scale: f64) -> usize {
        let wide = self.calls.values().filter(|node| node.samples as f64 * scale >= NARROWEST);
        wide.map(|node| 1 + node.rows(scale)).max().unwrap_or(0)
    }
}

struct FlameDrawing {
    out: String,
    total_samples: f64,
    scale: f64,
    height: f64,
}

impl FlameDrawing {
    fn draw_callees(&mut self, node: &Node<'_>, mut x: f64, row: usize) {
        for (name, call) in &node.calls {
            let width = call.samples as f64 * self.scale;
            if width >= NARROWEST {
                self.draw(name, call.samples, x, width, row);
                self.draw_callees(call, x, row + 1);
            }
            x += width;
        }
    }

    fn draw(&mut self, name: &str, samples: u64, x: f64, width: f64, row: usize) {
        let y = self.height - ROW * (row as f64 + 1.0);
        // The first row is the core, the second one the thread.
        let class = if row < 2 { "s0" } else { CLASSES[name.bytes().map(usize::from).sum::<usize>() % CLASSES.len()] };
        let share = percent(samples as f64 * 100.0 / self.total_samples);
        let _ = write!(
            self.out,
            "<g class=\"{class}\"><title>{}: {share}, {} samples</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{:.1}\"/>",
            escaped(name),
            grouped(samples),
            ROW - 1.0
        );
        let name = shortened(name, width - PADDING);
        if !name.is_empty() {
            let (x, y) = (x + PADDING / 2.0, y + ROW - 5.0);
            let _ = write!(self.out, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(&name));
        }
        self.out.push_str("</g>\n");
    }
}

/// A flame graph.
#[derive(Clone, Debug, Default)]
pub struct FlameGraph {
    /// Unique in a page.
    pub id: String,
    /// What the figure shows.
    pub title: String,
    /// Description for screen readers.
    pub description: String,
    /// Call stacks: names from the outermost to the innermost with `;` in between, and their samples.
    pub stacks: BTreeMap<String, u64>,
    /// Width in pixels of the drawing.
    pub width: f64,
}

impl FlameGraph {
    /// Renders an `<svg>` element.
    pub fn render(&self) -> String {
        let root = Node::of(&self.stacks);
        let total_samples = (root.samples as f64).max(1.0);
        let scale = self.width / total_samples;
        let height = ROW * root.rows(scale) as f64;
        let out = begin(&self.id, "flame", (self.width, height), &self.title, &self.description);
        let mut drawing = FlameDrawing { out, total_samples, scale, height };
        drawing.draw_callees(&root, 0.0, 0);
        drawing.out + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(title: &str, description: &str, stacks: &[(&str, u64)], width: f64) -> String {
        let stacks = stacks.iter().map(|(stack, samples)| ((*stack).to_owned(), *samples)).collect();
        let [id, title, description] = ["f", title, description].map(str::to_owned);
        FlameGraph { id, title, description, stacks, width }.render()
    }

    #[test]
    fn a_box_is_as_wide_as_its_share() {
        let stacks = [
            ("core 1;ksoftirqd/1;process_backlog;nf_conntrack_in<T>", 600),
            ("core 1;ksoftirqd/1;process_backlog", 150),
            ("core 1;ksoftirqd/1;a_function_with_a_long_name", 50),
            ("core 2;natmeter;rare", 199),
            ("core 2;natmeter;invisible", 1),
        ];
        insta::assert_snapshot!(drawn("Profile", "of a device", &stacks, 300.0));
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(drawn("", "", &[], 100.0).ends_with("</desc>\n</svg>\n"));
    }
}
