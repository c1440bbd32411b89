//! A TOML value, and the reason why it may be refused.

use crate::quantity::QuantityError;
use crate::tree::{Node, TreeTable};
use std::fmt;

/// A value; numbers stay text so that nothing is rounded.
#[derive(Clone, Debug)]
pub enum Value {
    /// A string, unquoted.
    Text(String),
    /// A whole number, in decimal.
    Integer(String),
    /// A number with a point.
    Float(String),
    /// An array, each element with its place.
    List(Vec<Node>),
    /// A table: inline, or an element of an array of tables.
    Table(TreeTable),
    /// A boolean.
    Bool(bool),
    /// A type that is never used (a date), by its name.
    Other(&'static str),
}

impl Value {
    /// What people call a value of this type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Text(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a number",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Bool(_) => "a boolean",
            Value::Other(name) => name,
        }
    }
}

/// As TOML has it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Integer(number) | Value::Float(number) => f.write_str(number),
            Value::Bool(yes) => write!(f, "{yes}"),
            Value::Other(name) => f.write_str(name),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.value.to_string()).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Value::Table(table) => {
                let entries = table.entries().iter().map(|entry| format!("{} = {}", entry.name, entry.node.value));
                write!(f, "{{ {} }}", entries.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// Why a value is refused, and what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong, to be shown under the value.
    pub what: String,
    /// The advice, to be shown below.
    pub instead: String,
}

impl Wrong {
    /// What is wrong, and what to write instead.
    pub fn new(what: impl Into<String>, instead: impl Into<String>) -> Wrong {
        Wrong { what: what.into(), instead: instead.into() }
    }
}

impl From<QuantityError> for Wrong {
    fn from(error: QuantityError) -> Wrong {
        Wrong { what: error.wrong, instead: error.instead }
    }
}
