//! Mapping of Address and Port: the rules that MAP-E (RFC 7597) and MAP-T (RFC 7599) share, and the roles of CE and BR
//! in both as strategies of the tunnel and of the translator.

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
