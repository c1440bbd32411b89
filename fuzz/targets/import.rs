//! Any text as a file of another tester: series whose values are in order, or a mistake that can be printed. The same file twice
//! has the same medians.

#![no_main]

use libfuzzer_sys::fuzz_target;
use record::import::{Series, read, unpacked};

fuzz_target!(|text: &str| {
    let _ = unpacked(text.as_bytes());
    let once = match read([("a", text)]) {
        Ok((series, _)) => series,
        Err((name, error)) => {
            assert!(name == "a" && !error.why.is_empty() && error.line != Some(0));
            assert!(!error.to_string().contains('\u{1b}'), "{error}");
            return;
        }
    };
    assert!(!once.is_empty());
    let stat = |series: &Series, stat: &str| {
        let of_stat = series.values.iter().filter(|value| value.stat == stat);
        of_stat.map(|value| (value.x.clone(), value.value)).collect::<Vec<_>>()
    };
    for series in &once {
        let [medians, least, most] = ["median", "min", "max"].map(|name| stat(series, name));
        assert!(!medians.is_empty() && medians.len() == least.len() && medians.len() == most.len());
        for ((median, min), max) in medians.iter().zip(&least).zip(&most) {
            assert!(min.1 <= median.1 && median.1 <= max.1, "{series:?}");
        }
    }
    let (twice, _) = read([("a", text), ("b", text)]).expect("the same files");
    assert_eq!(twice.len(), once.len());
    for (twice, once) in twice.iter().zip(&once) {
        assert_eq!(stat(twice, "median"), stat(once, "median"));
        assert_eq!(twice.files, ["a", "b"]);
    }
});
