//! The report as LaTeX: a document that compiles, whose tables (booktabs, longtable) can be pasted into a paper with the packages of
//! its preamble. A wide table is split by columns.

use crate::report::Document;
use crate::split::{Block, Line, Sheet, Texts, one_line, with_code};
use std::fmt::Write;

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

/// Returns a document in LaTeX.
pub fn render(document: &Document) -> String {
    let mut out = PREAMBLE.to_owned();
    let heading = |text: &str| escaped(&one_line(text));
    let _ = write!(out, "\\section*{{{}}}\n\n\\textbf{{{}}}\n", heading(&document.title), heading(&document.label));
    paragraphs(&mut out, &document.paragraphs());
    for part in document.parts() {
        let _ = write!(out, "\n\\subsection*{{{}}}\n", heading(&part.title));
        paragraphs(&mut out, &part.paragraphs);
        for sheet in part.tables.iter().map(|table| Sheet::of(table, one_line)) {
            for block in Block::split(&sheet, ROOM, BETWEEN) {
                print(&mut out, &sheet, &block);
            }
        }
    }
    out.push_str("\n\\end{document}\n");
    out
}

fn paragraphs(out: &mut String, paragraphs: &[String]) {
    for paragraph in paragraphs {
        let _ = write!(out, "\n{}\n", prose(&one_line(paragraph)));
    }
}

fn print(out: &mut String, sheet: &Sheet, block: &Block) {
    let _ = write!(out, "\n{{\\footnotesize\n\\begin{{longtable}}{{@{{}}{}}}\n", specification(sheet, block));
    let mut head = escaped(&sheet.head[0]);
    for column in block.columns.clone() {
        let _ = write!(head, " & {}", escaped(&sheet.head[column + 1]));
    }
    let _ = write!(
        out,
        "\\caption*{{{}}}\\\\\n\\toprule\n{head} \\\\\n\\midrule\n\\endfirsthead\n\\toprule\n{head} \\\\\n\\midrule\n\\endhead\n\
         \\bottomrule\n\\endlastfoot\n",
        escaped(&block.title(sheet))
    );
    for (i, line) in block.lines(sheet).into_iter().enumerate() {
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
    if block.is_last(sheet) {
        for (i, note) in sheet.notes.iter().enumerate() {
            let _ = write!(out, "\n{{\\footnotesize {{[}}{}] {}\\par}}\n", i + 1, prose(note));
        }
    }
}

/// The columns: row heads and words as paragraphs, numbers aligned to the right. All have a width, so that LaTeX needs one run.
fn specification(sheet: &Sheet, block: &Block) -> String {
    let mut columns = paragraph_column(block.label);
    for (column, width) in block.columns.clone().zip(&block.widths) {
        columns += &if sheet.is_words[column] { paragraph_column(*width) } else { number_column(*width) };
    }
    columns
}

fn paragraph_column(characters: usize) -> String {
    format!(">{{\\raggedright\\arraybackslash}}p{{{:.1}em}}", (characters + 1) as f64 * EM)
}

/// With room for bold digits, and no more: a full table has the width of the page.
fn number_column(characters: usize) -> String {
    format!(">{{\\raggedleft\\arraybackslash}}p{{{:.1}em}}", characters as f64 * 0.54 + 0.2)
}

fn print_row(out: &mut String, block: &Block, row: &Texts) {
    let strong = |text: String| if row.is_main { format!("\\textbf{{{text}}}") } else { text };
    let cells = row.cells[block.columns.clone()].iter().map(|cell| prose(cell));
    let all: Vec<String> = std::iter::once(escaped(&row.label)).chain(cells).map(strong).collect();
    let _ = writeln!(out, "{} \\\\", all.join(" & "));
}

fn prose(text: &str) -> String {
    with_code(text, |code| format!("\\texttt{{{}}}", escaped(code)), escaped)
}

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
