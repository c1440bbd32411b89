//! The version of the rules that judge trials and find results. A run's record names its version; a record of another
//! version keeps its recorded verdicts.

/// Version of the code that turns recorded trials into verdicts and results: [`crate::judge`], [`crate::Judged`] and
/// the procedures. Raise it with every change that could give recorded trials another verdict or result. Records
/// without a version are of natmeter 0.1.0, whose rules are version 1. Until version 2, host noise invalidated only a
/// fail; since version 3 it invalidates a pass, too. Since version 4, a search for an establishment rate tries no rate
/// whose trial takes longer than the time limit of all its invalid trials. Since version 5, a trial that sent fewer frames
/// than planned is invalid whatever else happened, and noise can have touched the frames of catch-up bursts.
pub const RULES: u32 = 5;
