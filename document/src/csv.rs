//! Comma-separated values (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe before it, as OWASP
//! advises against CSV injection; numbers stay as they are.

use std::fmt::Display;

/// A field of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// Words, which may come from a scenario or a device.
    Text(String),
    /// A number, or nothing.
    Number(String),
}

impl Field {
    /// A number.
    pub fn number(number: impl Display) -> Field {
        Field::Number(number.to_string())
    }

    /// A number, if there is one.
    pub fn optional(number: Option<impl Display>) -> Field {
        Field::Number(number.map_or_else(String::new, |number| number.to_string()))
    }
}

impl<T: Into<String>> From<T> for Field {
    fn from(text: T) -> Field {
        Field::Text(text.into())
    }
}

/// Characters with which a formula, or a field that continues one, begins.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A line of fields, with its end.
pub fn line(fields: impl IntoIterator<Item = Field>) -> String {
    fields.into_iter().map(printed).collect::<Vec<_>>().join(",") + "\n"
}

fn printed(field: Field) -> String {
    let is_formula = matches!(&field, Field::Text(text) if text.starts_with(FORMULA));
    let (Field::Text(text) | Field::Number(text)) = field;
    let text = if is_formula { format!("'{text}") } else { text };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_and_never_formulas() {
        let texts = ["a, \"b\"", "=1+1", "+1", "-rf", "@SUM(A1)", "\t=1", "\r=1", "a=1"].map(Field::from);
        let numbers = [Field::number(-3), Field::number("1,000"), Field::optional(None::<u64>)];
        let expected = "\"a, \"\"b\"\"\",'=1+1,'+1,'-rf,'@SUM(A1),'\t=1,\"'\r=1\",a=1,-3,\"1,000\",\n";
        assert_eq!(line(texts.into_iter().chain(numbers)), expected);
    }
}
