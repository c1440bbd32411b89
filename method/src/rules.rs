//! The version of the rules by which trials are judged and results are found. Its own file because records of runs
//! name it: a record of other rules is read with the verdicts that it holds.

/// Version of all that turns recorded trials into verdicts and results: [`crate::judge`], [`crate::Judged`] and the
/// procedures. Raise it with every change after which a recorded trial could get another verdict, or recorded trials
/// another result. Records that name no version are of natmeter 0.1.0, whose rules are version 1.
pub const RULES: u32 = 2;
