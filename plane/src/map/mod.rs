//! Mapping of Address and Port: the rules of MAP-E (RFC 7597) and MAP-T (RFC 7599), and the roles of CE and BR.

pub mod domain;
pub mod lpm;
mod role;
pub mod rule;
mod text;
mod translation;
mod tunnel;

pub use domain::{Domain, DomainError, MOST_RULES};
pub use role::RoleError;
pub use rule::{Customer, Mapping, Psid, Rule, RuleError};
pub use text::ListError;
pub use translation::{MapTBr, MapTCe};
pub use tunnel::{MapEBr, MapECe};
