//! Mapping of Address and Port: the rules that MAP-E (RFC 7597) and MAP-T (RFC 7599) share, and the roles of CE and BR
//! in both as strategies of the tunnel and of the translator.

pub mod domain;
pub mod lpm;
pub mod rule;
mod text;

pub use domain::{Domain, DomainError};
pub use rule::{Customer, Mapping, Psid, Rule, RuleError};
pub use text::ListError;
