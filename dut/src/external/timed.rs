//! The time of a hook on its host's clock: one shell command reads the clock before and after, so
//! that network and start of the command do not count.

const MARK: &str = "natmeter-clock";

/// Command line that exits as the hook does.
pub(super) fn line(hook: &str) -> String {
    // A hook may call `exit`, and end in a comment.
    format!("a=$(date +%s%N)\n(\n{hook}\n)\nr=$?\nb=$(date +%s%N)\necho\necho {MARK} \"$a\" \"$b\"\nexit $r")
}

/// Time that the hook took, if the host's `date` prints nanoseconds.
pub(super) fn nanos(output: &str) -> Option<u64> {
    let times = output.lines().rev().find_map(|line| line.strip_prefix(MARK))?;
    let mut times = times.split_ascii_whitespace().map(|time| time.parse::<u64>().ok());
    let (before, after) = (times.next()??, times.next()??);
    // Seconds alone have ten digits.
    (before >= 1_000_000_000_000_000_000).then(|| after.saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_that_between_the_two_readings() {
        let output = "flushed\n\nnatmeter-clock 1790000000000000000 1790000000550000123\n";
        assert_eq!(nanos(output), Some(550_000_123));
    }

    #[test]
    fn a_date_without_nanoseconds_gives_no_time() {
        for times in ["1790000000N 1790000001N", "1790000000 1790000001", ""] {
            assert_eq!(nanos(&format!("natmeter-clock {times}\n")), None, "{times}");
        }
    }
}
