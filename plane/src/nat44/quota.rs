//! Quotas of a subscriber, and the default quota of a gateway on interfaces.

/// Maximum state of one subscriber (RFC 6888, REQ-4 and REQ-5). Each of n workers allows an n-th,
/// rounded up; where customers are `numbered`, their one worker allows all. Static mappings take no
/// ports of a quota; their sessions count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Most sessions; no limit when absent.
    pub sessions: Option<u32>,
    /// Ports and identifiers. Needs endpoint-independent mapping.
    pub ports: Option<u32>,
}

/// A worker's share in a table of `sessions`: see
/// [`Config::sessions_per_worker`](super::config::Config::sessions_per_worker).
pub fn share_of_a_worker(sessions: u64, workers: usize) -> u64 {
    match workers {
        0 | 1 => sessions,
        n => sessions.div_ceil(n as u64) * 17 / 16 + 1024,
    }
}

/// A subscriber's part of the table by default.
const SHARE: u64 = 4;

/// The default quota for a gateway on interfaces, where one host could otherwise fill the table
/// within a second: a quarter of the sessions that it can reach, at least one. `one_worker` says
/// that one worker has all sessions of a subscriber, as behind a dictionary. Measured devices have
/// no such default: one host with a million connections is the usual case of RFC 9693.
pub fn default_session_quota(sessions: u64, workers: usize, one_worker: bool) -> u32 {
    let reached = if one_worker { share_of_a_worker(sessions, workers).min(sessions) } else { sessions };
    (reached / SHARE).clamp(1, u32::MAX.into()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_default_a_subscriber_may_fill_a_quarter_of_the_table() {
        assert_eq!(default_session_quota(1 << 20, 1, false), 1 << 18);
        assert_eq!(default_session_quota(1 << 20, 4, false), 1 << 18, "workers share out a quota");
        assert_eq!(default_session_quota(0, 1, false), 1);
        assert_eq!(default_session_quota(3, 8, true), 1);
        assert_eq!(default_session_quota(u64::MAX, 1, true), u32::MAX);
        assert_eq!(Quota::default().sessions, None, "no quota unless it is asked for");
    }

    #[test]
    fn a_subscriber_at_one_worker_may_fill_a_quarter_of_its_share() {
        for workers in [2, 4, 16] {
            let (quota, share) = (default_session_quota(1 << 24, workers, true), share_of_a_worker(1 << 24, workers));
            assert_eq!(u64::from(quota), share / 4, "{workers} workers");
        }
        assert_eq!(default_session_quota(1000, 4, true), 250, "no more than a quarter of what was asked for");
    }
}
