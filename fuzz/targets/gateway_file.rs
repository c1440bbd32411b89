//! Any text as a gateway's file: a gateway whose configuration is sound, or complaints that can be drawn.

#![no_main]

use lab::scenario::gateway::{Technology, parse, side4};
use libfuzzer_sys::fuzz_target;
use wire::Mac;

fuzz_target!(|file: &str| match parse("any.toml", file) {
    Ok(g) => {
        #[allow(irrefutable_let_patterns, reason = "there will be other technologies")]
        if let Technology::Nat44(n) = &g.technology {
            let side = |s| side4(s, Mac::default(), Mac::default());
            let checked = n.config(side(&g.left), side(&g.right)).validate(g.workers);
            assert!(checked.is_ok(), "{checked:?}");
        }
        assert_eq!(g.can_become(&g), Ok(()), "what it is");
    }
    Err(complaints) => {
        assert!(!complaints.render(false).is_empty() && !complaints.render(true).is_empty());
        for (place, _) in complaints.diagnostics.iter().flat_map(|diagnostic| &diagnostic.marks) {
            assert!(complaints.line_and_column(*place) >= (1, 1));
        }
    }
});
