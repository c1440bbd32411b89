//! Results as typed values until the last moment, and the formats that print them. A cell knows its value, its interval, what
//! bounds it and its unit; tables, sections and figures consist of cells. Only
//! [`report`] and its formats know the parts of a run; nothing here reads a run folder or computes a result.

mod ascii;
pub mod csv;
pub mod flame;
pub mod glance;
pub mod html;
pub mod latex;
pub mod markdown;
pub mod number;
mod order;
pub mod quantity;
pub mod report;
pub mod rfc_text;
pub mod scale;
pub mod section;
mod split;
pub mod svg;
pub mod table;
pub mod text;
pub mod xml;
pub mod xml2rfc;

pub use order::{distinct, grouped_by};
pub use quantity::{Bound, Form, Quantity, QuantityInterval};
pub use report::Document;
pub use section::{Drawing, Figure, Finding, Pairs, Section};
pub use table::{Cell, Column, Group, MedianBar, Row, RowRole, Table, Term, row};
