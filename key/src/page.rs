//! The reference page of a kind of file, in Markdown.

use crate::book::{Book, Chapter, Variants};
use std::fmt::Write;

impl Book {
    /// The tables whose paths `of` accepts, with headings of this `depth`.
    pub fn page(&self, depth: usize, of: impl Fn(&str) -> bool) -> String {
        // Tables with the same keys share one section.
        let mut sections: Vec<Vec<&Chapter>> = Vec::new();
        for chapter in self.chapters.iter().filter(|chapter| of(&chapter.path)) {
            match sections.iter_mut().find(|section| section[0].reads_like(chapter)) {
                Some(section) => section.push(chapter),
                None => sections.push(vec![chapter]),
            }
        }
        let mut pages: Vec<String> = sections.iter().map(|section| page(section, depth)).collect();
        if let Some(Variants { table, about }) = self.variants.filter(|variants| of(variants.table)) {
            pages.push(format!("{} `[{table}.NAME]`\n\n{about}\n", "#".repeat(depth)));
        }
        pages.join("\n")
    }
}

impl Chapter {
    fn heading(&self) -> String {
        match (self.path.as_str(), self.is_array) {
            ("", _) => "Top level".to_owned(),
            (path, true) => format!("`[[{path}]]`"),
            (path, false) => format!("`[{path}]`"),
        }
    }

    fn reads_like(&self, other: &Chapter) -> bool {
        let same_keys = || self.keys.iter().zip(&other.keys).all(|(own, others)| std::ptr::eq(*own, *others));
        self.about == other.about && self.keys.len() == other.keys.len() && same_keys()
    }
}

fn page(chapters: &[&Chapter], depth: usize) -> String {
    let headings: Vec<String> = chapters.iter().map(|chapter| chapter.heading()).collect();
    let first = chapters[0];
    let mut page = format!("{} {}\n\n{}\n", "#".repeat(depth), headings.join(", "), first.about);
    if first.keys.is_empty() {
        return page + "\nNo keys.\n";
    }
    page += "\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
    for key in &first.keys {
        let cells = [format!("`{}`", key.name), (key.shape)().words, key.default.shown(), key.help().to_owned()];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    page
}
