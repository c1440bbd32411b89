//! The values of two runs side by side.

use super::{fixture, report};
use record::side::{Row, rows};

#[test]
fn equal_points_stand_in_one_row() {
    let first = report(&fixture::quickstart());
    let mut other = fixture::quickstart();
    other.outcomes.retain(|o| o.measurement.point.connections != 4_000_000);
    other.header.plan.measurements.retain(|m| m.point.connections != 4_000_000);
    let second = report(&other);
    let both = rows(&first, &second);
    assert_eq!(both.len(), first.results.len());
    for (row, result) in both.iter().zip(&first.results) {
        let is_missing = result.connections == 4_000_000;
        assert_eq!(row.values[1].is_none(), is_missing, "{row:?}");
        assert!(is_missing || row.values[0] == row.values[1], "{row:?}");
        let median = record::report::table_value(result);
        assert!(row.values[0].as_ref().unwrap().starts_with(&median), "{row:?}: {median}");
    }
    // The points of the second run alone come last.
    let turned = rows(&second, &first);
    let (shared, alone) = turned.split_at(second.results.len());
    assert!(shared.iter().all(|row| row.values[0].is_some()));
    assert!(!alone.is_empty() && alone.iter().all(|row| row.values[0].is_none() && row.values[1].is_some()));
}

#[test]
fn a_row_names_metric_unit_point_and_range() {
    let of_kernel = report(&fixture::kernel());
    let text: Vec<String> = rows(&of_kernel, &of_kernel)
        .iter()
        .map(|Row { metric, unit, point, values }| {
            format!("{metric} | {unit} | {point} | {}", values[0].as_deref().unwrap_or("none"))
        })
        .collect();
    insta::assert_snapshot!(text.join("\n"));
}
