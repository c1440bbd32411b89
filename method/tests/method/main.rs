//! Tests of the method: verdicts rule by rule.

mod strict;
mod validity;
