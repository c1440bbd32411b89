//! The reference page of a kind of file: a Markdown table for each of its tables.

use crate::book::{Book, Chapter, Variants};
use std::fmt::Write;

impl Book {
    /// The tables whose paths `of` accepts, as Markdown; headings have `#` as often as `depth` says.
    pub fn page(&self, depth: usize, of: impl Fn(&str) -> bool) -> String {
        let chapters = self.chapters.iter().filter(|chapter| of(&chapter.path));
        let mut pages: Vec<String> = chapters.map(|chapter| chapter.page(depth)).collect();
        if let Some(Variants { table, about }) = self.variants.filter(|variants| of(variants.table)) {
            pages.push(format!("{} `[{table}.NAME]`\n\n{about}\n", "#".repeat(depth)));
        }
        pages.join("\n")
    }
}

impl Chapter {
    fn page(&self, depth: usize) -> String {
        let heading = match (self.path.as_str(), self.is_array) {
            ("", _) => "Top level".to_owned(),
            (path, true) => format!("`[[{path}]]`"),
            (path, false) => format!("`[{path}]`"),
        };
        let mut page = format!("{} {heading}\n\n{}\n", "#".repeat(depth), self.about);
        if self.keys.is_empty() {
            return page + "\nNo keys.\n";
        }
        page += "\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
        for key in &self.keys {
            let cells = [format!("`{}`", key.name), (key.shape)().words, key.default.shown(), key.help().to_owned()];
            let cells = cells.map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(page, "| {} |", cells.join(" | "));
        }
        page
    }
}
