//! Results as typed values until the last moment, and the formats that print them. A cell knows its value, its interval, what
//! bounds it and its unit; tables, sections and figures consist of cells. Nothing here knows a run, a device or a procedure.

mod ascii;
pub mod csv;
pub mod flame;
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
pub use quantity::{Bound, Ends, Form, Quantity};
pub use report::Document;
pub use section::{Drawing, Figure, Finding, Pairs, Section};
pub use table::{Bar, Cell, Column, Group, Role, Row, Table, Term, row};
