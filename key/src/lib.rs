//! Declares, reads and documents the tables of TOML files: from one declaration by [`table!`] follow the reader, `--set`,
//! complaints, the JSON Schema and the reference page.

#![forbid(unsafe_code)]
#![allow(missing_docs, clippy::missing_errors_doc, reason = "names and error messages document the items")]

mod book;
#[doc(hidden)]
pub mod declare;
mod default;
mod did_you_mean;
mod fault;
pub mod kind;
mod page;
pub mod quantity;
mod read;
mod schema;
mod section;
mod source;
mod spans;
mod tree;
mod wrong;

pub use book::{Book, Chapter, Slip, Variants};
pub use declare::{Key, Table};
pub use default::{Default, computed, needed, or};
pub use did_you_mean::did_you_mean;
pub use fault::{At, Complaints, Fault, Refusal};
pub use kind::{Refuse, Shape, ValueKind};
pub use read::{override_value, read};
pub use section::{ListAdvice, Section, Sections};
pub use source::{Source, SourceSpan};
pub use spans::Spans;
pub use tree::{Node, Tree, TreeEntry, TreeTable, Value};
pub use wrong::Wrong;
