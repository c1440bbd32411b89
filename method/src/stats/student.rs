//! Quantiles of Student's t distribution.

/// Beyond this, quantiles differ by less than 1 % from normal ones.
const MOST_FREEDOM: usize = 1_000;

/// What the absolute value of t exceeds with this probability; its square is the quantile of F with
/// one and as many degrees of freedom.
pub fn exceeded_with(probability: f64, freedom: usize) -> f64 {
    let freedom = freedom.clamp(1, MOST_FREEDOM);
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if 1.0 - within(middle, freedom) > probability { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Probability of an absolute value of t up to `t` (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    let first = usize::from(is_odd);
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = if freedom > 1 { term } else { 0.0 };
    for k in (first + 2..freedom.saturating_sub(1)).step_by(2) {
        term *= (k - 1) as f64 / k as f64 * cosine * cosine;
        sum += term;
    }
    if is_odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two-sided 5 % and 1 % (Abramowitz and Stegun, table 26.10).
    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (1, 12.706, 63.657),
            (2, 4.303, 9.925),
            (3, 3.182, 5.841),
            (4, 2.776, 4.604),
            (7, 2.365, 3.499),
            (8, 2.306, 3.355),
            (30, 2.042, 2.750),
            (120, 1.980, 2.617),
            (100_000, 1.962, 2.581),
        ];
        for (freedom, five, one) in table {
            for (probability, known) in [(0.05, five), (0.01, one)] {
                let found = exceeded_with(probability, freedom);
                assert!((found - known).abs() < 1e-3, "{freedom} {probability}: {found}, not {known}");
            }
        }
    }
}
