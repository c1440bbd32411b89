//! Linear least squares with few unknowns.

/// The x that minimises ‖A x − b‖; `None` if the columns of A are linearly dependent.
pub(super) fn solve(rows: &[Vec<f64>], b: &[f64]) -> Option<Vec<f64>> {
    let n = rows.first()?.len();
    let mut m = vec![vec![0.0; n + 1]; n];
    for (row, value) in rows.iter().zip(b) {
        for i in 0..n {
            for j in 0..n {
                m[i][j] += row[i] * row[j];
            }
            m[i][n] += row[i] * value;
        }
    }
    for at in 0..n {
        let pivot = (at..n).max_by(|&i, &j| m[i][at].abs().total_cmp(&m[j][at].abs()))?;
        m.swap(at, pivot);
        let diagonal = rows.iter().map(|row| row[at] * row[at]).sum::<f64>();
        if m[at][at].abs() <= 1e-12 * diagonal {
            return None;
        }
        let pivot = m[at].clone();
        for row in m.iter_mut().enumerate().filter(|(i, _)| *i != at).map(|(_, row)| row) {
            let factor = row[at] / pivot[at];
            row.iter_mut().zip(&pivot).for_each(|(element, above)| *element -= factor * above);
        }
    }
    Some((0..n).map(|i| m[i][n] / m[i][i]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parabola_is_recovered() {
        let rows: Vec<Vec<f64>> = (0..5).map(f64::from).map(|x| vec![1.0, x, x * x]).collect();
        let b: Vec<f64> = (0..5).map(f64::from).map(|x| 3.0 - 2.0 * x + 0.5 * x * x).collect();
        let x = solve(&rows, &b).unwrap();
        assert!(x.iter().zip([3.0, -2.0, 0.5]).all(|(a, b)| (a - b).abs() < 1e-9), "{x:?}");
    }

    #[test]
    fn dependent_columns_have_no_solution() {
        assert_eq!(solve(&[vec![1.0, 2.0], vec![2.0, 4.0], vec![3.0, 6.0]], &[1.0, 2.0, 3.0]), None);
        assert_eq!(solve(&[], &[]), None);
    }
}
