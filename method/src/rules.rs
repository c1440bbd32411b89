//! The version of the rules that judge trials and find results, in a run's record.

/// Version of [`crate::judge`], [`crate::TrialJudge`] and the procedures; a record of another version keeps its verdicts.
/// Raise it with every change that could give recorded trials another verdict or result.
///
/// - 1: natmeter 0.1.0, whose records have no version.
/// - 3: host noise invalidates a pass, too, not only a fail.
/// - 4: a search for an establishment rate tries no rate whose trial takes longer than the time limit of its invalid
///   trials.
/// - 5: a trial that sent fewer frames than planned is invalid, and noise can have touched the frames of catch-up
///   bursts.
/// - 6: a loss that no rate causes ends a search without a rate.
/// - 7: a complete proof that connections exist stands whatever the host did.
/// - 8: a net time below zero to empty a table has no rate, and the memory of a connection is that of several fills.
/// - 9: host noise excuses no frame that arrived wrong, and frames that arrive in the next trial end a search without a rate.
pub const RULES: u32 = 9;
