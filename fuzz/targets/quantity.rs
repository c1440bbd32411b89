//! Any text as each kind of quantity, mix and popularity: what is understood, is shown in a form that means the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use method::{Popularity, Ratio};
use scenario::Imix;
use scenario::quantity::{
    addresses, count, duration, ports, rate, share_ppm, show_bytes, show_count, show_duration, show_grouped,
    show_share, show_time,
};
use wire::Mac;

fuzz_target!(|text: &str| {
    if let Ok(n) = count(text) {
        assert_eq!(count(&show_count(n)), Ok(n));
        assert_eq!(show_grouped(n).replace(',', ""), n.to_string());
        assert!(!show_bytes(n).is_empty());
    }
    if let Ok(t) = duration(text) {
        assert_eq!(duration(&show_duration(t)), Ok(t));
        assert!(!show_time(t).is_empty());
    }
    if let Ok(ppm) = share_ppm(text) {
        assert_eq!(share_ppm(&show_share(ppm)), Ok(ppm));
    }
    if let Ok(written) = rate(text) {
        for size in [64, 9216] {
            let _ = written.frames_per_second(size);
        }
    }
    if let Ok(range) = ports(text) {
        assert!(range.first > 0 && range.first <= range.last);
        assert_eq!(ports(&range.to_string()), Ok(range));
    }
    if let Ok(range) = addresses(text) {
        assert!(range.contains(range.first) && range.contains(range.last()));
        assert_eq!(addresses(&format!("{} - {}", range.first, range.last())), Ok(range));
    }
    if let Ok(ratio) = text.parse::<Ratio>() {
        assert_eq!(ratio.to_string().parse(), Ok(ratio));
        assert!(ratio.ceil_of(u64::MAX) >= ratio.floor_of(u64::MAX));
    }
    if let Ok(imix) = text.parse::<Imix>() {
        assert_eq!(imix.to_string().parse(), Ok(imix.clone()));
        assert!((imix.smallest()..=imix.largest()).contains(&imix.mean()));
    }
    if let Ok(popularity) = text.parse::<Popularity>() {
        assert_eq!(popularity.to_string().parse(), Ok(popularity));
    }
    if let Ok(mac) = text.parse::<Mac>() {
        assert_eq!(mac.to_string(), text.to_ascii_lowercase());
    }
});
