//! The known ways of moving packets: one file each, one entry each in [`KNOWN`].

pub mod link;

/// Name and one line about every back-end.
pub const KNOWN: &[(&str, &str)] = &[("link", "in-process link to the embedded gateway; no privilege, no kernel")];
