//! The report as LaTeX: a document that compiles, whose tables (booktabs, longtable) can be pasted into a paper with the packages of
//! its preamble. A wide table is split by columns.

use super::document::{Block, Document, Line, is_words, one_line, spans};
use super::table::{Row, Table};
use super::{Format, Report};
use std::fmt::Write;

/// LaTeX with booktabs.
pub(super) const FORMAT: Format =
    Format { name: "latex", extension: "tex", about: "a LaTeX document with booktabs tables, for a paper", render };

const PREAMBLE: &str = r"\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[margin=2.5cm]{geometry}
\usepackage{array,booktabs,caption,longtable}
\emergencystretch=3em
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.5em}
\begin{document}
";

/// Characters of a table in the size of its text, and those between two columns.
const ROOM: usize = 104;
const BETWEEN: usize = 3;
/// Width of a character in em, with some room.
const EM: f64 = 0.52;

fn render(report: &Report) -> String {
    let document = Document::of(report).map(one_line);
    let mut out = PREAMBLE.to_owned();
    let _ = write!(out, "\\section*{{{}}}\n\n\\textbf{{{}}}\n", escaped(&document.title), escaped(&document.label));
    paragraphs(&mut out, &document.about);
    for part in &document.parts {
        let _ = write!(out, "\n\\subsection*{{{}}}\n", escaped(&part.title));
        paragraphs(&mut out, &part.paragraphs);
        for table in &part.tables {
            for block in Block::split(table, ROOM, BETWEEN) {
                print(&mut out, table, &block);
            }
        }
    }
    out.push_str("\n\\end{document}\n");
    out
}

fn paragraphs(out: &mut String, paragraphs: &[String]) {
    for paragraph in paragraphs {
        let _ = write!(out, "\n{}\n", prose(paragraph));
    }
}

fn print(out: &mut String, table: &Table, block: &Block) {
    let _ = write!(out, "\n{{\\footnotesize\n\\begin{{longtable}}{{@{{}}{}}}\n", specification(table, block));
    let mut head = escaped(table.axis);
    for column in block.columns.clone() {
        let _ = write!(head, " & {}", escaped(&table.columns[column]));
    }
    let _ = write!(
        out,
        "\\caption*{{{}}}\\\\\n\\toprule\n{head} \\\\\n\\midrule\n\\endfirsthead\n\\toprule\n{head} \\\\\n\\midrule\n\\endhead\n\
         \\bottomrule\n\\endlastfoot\n",
        escaped(&block.title(table))
    );
    for (i, line) in block.lines(table).into_iter().enumerate() {
        match line {
            Line::Group(title) => {
                if i > 0 {
                    out.push_str("\\midrule\n");
                }
                let all = block.label + block.widths.iter().map(|width| width + BETWEEN).sum::<usize>();
                let (columns, width) = (block.columns.len() + 1, paragraph_column(all));
                let _ =
                    writeln!(out, "\\multicolumn{{{columns}}}{{@{{}}{width}}}{{\\textbf{{{}}}}} \\\\", escaped(title));
            }
            Line::Row(row) => print_row(out, block, row),
        }
    }
    out.push_str("\\end{longtable}}\n");
    if block.is_last(table) {
        for (i, note) in table.notes.iter().enumerate() {
            let _ = write!(out, "\n{{\\footnotesize {{[}}{}] {}\\par}}\n", i + 1, prose(note));
        }
    }
}

/// The columns: row heads and words as paragraphs, numbers aligned to the right.
fn specification(table: &Table, block: &Block) -> String {
    let mut columns = paragraph_column(block.label);
    for (column, width) in block.columns.clone().zip(&block.widths) {
        columns += &if is_words(table, column) { paragraph_column(*width) } else { "r".to_owned() };
    }
    columns
}

fn paragraph_column(characters: usize) -> String {
    format!(">{{\\raggedright\\arraybackslash}}p{{{:.1}em}}", (characters + 1) as f64 * EM)
}

fn print_row(out: &mut String, block: &Block, row: &Row) {
    let strong = |text: String| if row.strong { format!("\\textbf{{{text}}}") } else { text };
    let cells = row.cells[block.columns.clone()].iter().map(|cell| prose(cell));
    let all: Vec<String> = std::iter::once(escaped(&row.label)).chain(cells).map(strong).collect();
    let _ = writeln!(out, "{} \\\\", all.join(" & "));
}

/// A text with its code.
fn prose(text: &str) -> String {
    let code = |(is_code, part): (bool, &str)| {
        let part = escaped(part);
        if is_code { format!("\\texttt{{{part}}}") } else { part }
    };
    spans(text).into_iter().map(code).collect()
}

/// Signs, and how LaTeX prints them.
const SIGNS: [(char, &str); 36] = [
    ('\\', r"\textbackslash{}"),
    ('{', r"\{"),
    ('}', r"\}"),
    ('$', r"\$"),
    ('&', r"\&"),
    ('#', r"\#"),
    ('^', r"\textasciicircum{}"),
    ('_', r"\_"),
    ('~', r"\textasciitilde{}"),
    ('%', r"\%"),
    ('<', r"\textless{}"),
    ('>', r"\textgreater{}"),
    ('|', r"\textbar{}"),
    ('"', r"\char34{}"),
    ('`', r"\textasciigrave{}"),
    // Alone, these two are arguments of the end of a row, and two hyphens are a dash.
    ('[', "{[}"),
    ('*', "{*}"),
    ('-', "-{}"),
    ('\u{a0}', "~"),
    ('–', "--"),
    ('—', "---"),
    ('−', "$-$"),
    ('·', r"$\cdot$"),
    ('×', r"$\times$"),
    ('≥', r"$\geq$"),
    ('≤', r"$\leq$"),
    ('≈', r"$\approx$"),
    ('±', r"$\pm$"),
    ('→', r"$\to$"),
    ('µ', r"$\mu$"),
    ('μ', r"$\mu$"),
    ('…', r"\dots{}"),
    ('‘', "`"),
    ('’', "'"),
    ('“', "``"),
    ('”', "''"),
];

/// Letters with accents that every font of LaTeX has.
const LETTERS: &str = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿŐőŰű";

/// A text in which no character is a command. A character that LaTeX's fonts lack becomes its code point.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match SIGNS.iter().find(|(sign, _)| *sign == c) {
            Some((_, printed)) => out.push_str(printed),
            None if c.is_ascii() && !c.is_ascii_control() || LETTERS.contains(c) => out.push(c),
            None => {
                let _ = write!(out, "\\texttt{{U+{:04X}}}", u32::from(c));
            }
        }
    }
    out
}
