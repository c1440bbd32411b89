//! Time in UTC as text. The folder's name and the header show the same time.

use jiff::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// `20260112-101530`, for names: sorts by time.
pub fn compact(at: SystemTime) -> String {
    timestamp(at).strftime("%Y%m%d-%H%M%S").to_string()
}

/// `2026-01-12T10:15:30Z`, for people and programs.
pub fn rfc3339(at: SystemTime) -> String {
    timestamp(at).to_string()
}

/// Whole seconds; a clock before 1970 is shown as 1970, and one after the last year of the calendar as its end.
fn timestamp(at: SystemTime) -> Timestamp {
    let seconds = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok()).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn known_moments() {
        // Reference values: GNU date -u -d @N.
        assert_eq!(rfc3339(at(0)), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(at(951_782_400)), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(at(951_868_799)), "2000-02-29T23:59:59Z");
        assert_eq!(rfc3339(at(951_868_800)), "2000-03-01T00:00:00Z");
        assert_eq!(rfc3339(at(1_735_689_599)), "2024-12-31T23:59:59Z");
        assert_eq!(rfc3339(at(4_107_542_400)), "2100-03-01T00:00:00Z");
        assert_eq!(compact(at(1_768_212_930)), "20260112-101530");
    }
}
