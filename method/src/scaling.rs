//! Relative scale-up by Lencse and Bazsó, "Benchmarking methodology for IPv4aaS technologies: comparison of the
//! scalability of the Jool implementation of 464XLAT and MAP-T" (2024), and draft-lencse-v6ops-transition-scalability.

/// `S_C(n, n0) = P(n) / P(n0)`, with the smallest n0 (their equation 2); `None` if the divisor is 0.
pub fn connections(performance: f64, smallest: f64) -> Option<f64> {
    divided(performance, smallest)
}

/// `S_CPU(n) = P(n) / (n × P(1))`; their equation 1 omits P(1), by which their tables divide.
pub fn cores(n: u32, performance: f64, one_core: f64) -> Option<f64> {
    divided(performance, f64::from(n) * one_core)
}

/// `P(n) / P(previous n)`: the step from one column to the next.
pub fn to_previous(performance: f64, previous: f64) -> Option<f64> {
    divided(performance, previous)
}

fn divided(a: f64, b: f64) -> Option<f64> {
    if b > 0.0 { Some(a / b) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slide_that_divided_by_the_previous_performance_is_not_reproduced() {
        // IETF 113 slide "Scalability against the number of CPU cores", cps of Jool: 0.375 = P(4) / (4 × P(2)); the
        // draft prints 0.588 = P(4) / (4 × P(1)).
        let (one, two, four) = (228.6, 358.5, 537.4);
        assert!((cores(4, four, two).unwrap() - 0.375).abs() < 0.000_5);
        assert!((cores(4, four, one).unwrap() - 0.588).abs() < 0.000_5);
    }

    #[test]
    fn connections_are_compared_with_the_smallest_number() {
        // draft-lencse-v6ops-transition-scalability-05, Figure 4, iptables: 2.406 Mcps at 1.5625 M connections, 1.405 Mcps at 800 M.
        let s = connections(1.405, 2.406).unwrap();
        assert!((s - 0.584).abs() < 0.000_5);
    }

    #[test]
    fn nothing_is_compared_with_a_performance_of_zero() {
        assert_eq!(connections(1.0, 0.0), None);
        assert_eq!(cores(4, 1.0, 0.0), None);
    }
}
