//! Time in UTC as text, from the seconds since 1970. The folder's name and the header show the same time. Two formats do not
//! justify the dependency on a calendar library.

use std::time::{SystemTime, UNIX_EPOCH};

/// A time as year, month, day, hour, minute, second; UTC.
struct Civil {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

/// `20260112-101530`, for names: sorts by time.
pub fn compact(at: SystemTime) -> String {
    let Civil { year, month, day, hour, minute, second } = civil(at);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

/// `2026-01-12T10:15:30Z`, for people and programs.
pub fn rfc3339(at: SystemTime) -> String {
    let Civil { year, month, day, hour, minute, second } = civil(at);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A clock before 1970 is shown as 1970.
fn civil(at: SystemTime) -> Civil {
    let seconds = at.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, day_of_year) = year_of(days);
    let february = 28 + u64::from(is_leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let (mut month, mut day) = (1, day_of_year);
    for length in lengths {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    Civil { year, month, day: day + 1, hour: rest / 3_600, minute: rest / 60 % 60, second: rest % 60 }
}

/// The year in which day `days` after 1 January 1970 lies, and the day's number in it from 0.
fn year_of(days: u64) -> (u64, u64) {
    // Days before 1 January of a year, counted from the year 1.
    let before = |year: u64| (year - 1) * 365 + (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
    let since_year_1 = days + before(1970);
    // A year has at most 366 days, so the guess is never too late.
    let mut year = since_year_1 / 366 + 1;
    while before(year + 1) <= since_year_1 {
        year += 1;
    }
    (year, since_year_1 - before(year))
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
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

    #[test]
    fn every_day_of_400_years_follows_the_day_before() {
        let mut last = String::new();
        for day in 0..146_097 {
            let text = compact(at(day * 86_400));
            assert!(text > last, "{last} is followed by {text}");
            last = text;
        }
        assert_eq!(last, "23691231-000000");
    }
}
