//! Procedures: one file and one entry for each. A procedure says what it measures, which keys it has, what it needs of a
//! device, what RFCs require of it, how it searches, and how its results are reported.

#![forbid(unsafe_code)]
