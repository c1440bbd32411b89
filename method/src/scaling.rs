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

    const CORES: [u32; 5] = [1, 2, 4, 8, 16];

    struct Series {
        source: &'static str,
        rates: [f64; 5],
        printed: [f64; 5],
    }

    fn series(source: &'static str, rates: [f64; 5], printed: [f64; 5]) -> Series {
        Series { source, rates, printed }
    }

    /// "draft" is draft-lencse-v6ops-transition-scalability-05; "paper" is Lencse and Bazsó (2024).
    fn published() -> Vec<Series> {
        vec![
            series(
                "draft, Figure 2, iptables, cps in 1,000",
                [223.5, 371.1, 708.7, 1_341.0, 2_383.0],
                [1.0, 0.830, 0.793, 0.750, 0.666],
            ),
            series(
                "draft, Figure 2, iptables, throughput in 1,000",
                [414.9, 742.3, 1_379.0, 2_336.0, 4_557.0],
                [1.0, 0.895, 0.831, 0.704, 0.686],
            ),
            series(
                "draft, Figure 2, IPv4 forwarding in 1,000",
                [910.9, 1_523.0, 3_016.0, 5_920.0, 11_561.0],
                [1.0, 0.836, 0.828, 0.812, 0.793],
            ),
            series(
                "draft, Figure 8, Jool, cps in 1,000",
                [228.6, 358.5, 537.4, 569.9, 602.6],
                [1.0, 0.784, 0.588, 0.312, 0.165],
            ),
            series(
                "draft, Figure 8, Jool, throughput in 1,000",
                [251.8, 405.7, 582.4, 604.1, 612.3],
                [1.0, 0.806, 0.578, 0.300, 0.152],
            ),
            series(
                "paper, Table 2, IPv4 forwarding",
                [883_553.0, 1_540_032.0, 3_122_846.0, 6_093_748.0, 11_484_372.0],
                [1.0, 0.871, 0.884, 0.862, 0.812],
            ),
            series(
                "paper, Table 3, IPv6 forwarding",
                [763_142.0, 1_225_970.0, 2_431_870.0, 4_633_994.0, 5_577_862.0],
                [1.0, 0.803, 0.797, 0.759, 0.457],
            ),
            series(
                "paper, Table 4, cps",
                [210_344.0, 328_212.0, 423_903.0, 448_817.0, 459_089.0],
                [1.0, 0.780, 0.504, 0.267, 0.136],
            ),
            series(
                "paper, Table 4, throughput",
                [217_946.0, 372_742.0, 472_135.0, 490_059.0, 495_614.0],
                [1.0, 0.855, 0.542, 0.281, 0.142],
            ),
            series(
                "paper, Table 6, cps",
                [443_388.0, 693_165.0, 1_054_225.0, 1_050_862.0, 1_053_726.0],
                [1.0, 0.782, 0.594, 0.296, 0.149],
            ),
            series(
                "paper, Table 6, throughput",
                [434_220.0, 750_820.0, 1_345_462.0, 2_081_068.0, 2_162_170.0],
                [1.0, 0.865, 0.775, 0.599, 0.311],
            ),
            series(
                "paper, Table 8, cps",
                [458_582.0, 767_221.0, 1_187_629.0, 1_198_302.0, 1_150_865.0],
                [1.0, 0.837, 0.647, 0.327, 0.157],
            ),
            series(
                "paper, Table 8, throughput",
                [447_262.0, 728_366.0, 1_303_495.0, 1_996_529.0, 2_051_404.0],
                [1.0, 0.814, 0.729, 0.558, 0.287],
            ),
        ]
    }

    #[test]
    fn every_printed_scale_up_over_cores_is_reproduced() {
        for Series { source, rates, printed } in published() {
            for ((n, rate), printed) in CORES.into_iter().zip(rates).zip(printed) {
                let computed = cores(n, rate, rates[0]).unwrap();
                // Half a unit of the last printed digit, and the rounding of the rates.
                assert!((computed - printed).abs() <= 0.000_6, "{source}, {n} cores: {computed} for {printed}");
            }
        }
    }

    #[test]
    fn the_slide_that_divided_by_the_previous_performance_is_not_reproduced() {
        // IETF 113 slide "Scalability against the number of CPU cores", cps of Jool: 0.375 = P(4) / (4 × P(2)); the
        // draft prints 0.588 = P(4) / (4 × P(1)).
        let (one, two, four) = (228.6, 358.5, 537.4);
        assert!((cores(4, four, two).unwrap() - 0.375).abs() < 0.000_5);
        assert!((cores(4, four, one).unwrap() - 0.588).abs() < 0.000_5);
    }

    #[test]
    fn printed_steps_to_the_previous_column_are_reproduced() {
        // draft-lencse-v6ops-transition-scalability-05, Figure 12, OpenBSD PF at 400 k, 4 M and 40 M connections.
        for (rates, printed) in
            [([120_214.0, 85_039.0, 74_022.0], [0.71, 0.87]), ([237_304.0, 198_828.0, 173_338.0], [0.84, 0.87])]
        {
            for (pair, printed) in rates.windows(2).zip(printed) {
                assert!((to_previous(pair[1], pair[0]).unwrap() - printed).abs() <= 0.005);
            }
        }
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
