//! Named counters and drop reasons of a technology.

/// From documented names: the enumeration `Event`, its `NAMES`, and `Counters`.
macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Something that is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Event { $($(#[$doc])* $name,)* }

        /// The names, in the order of the counters.
        pub const NAMES: &[&str] = &[$($text,)*];

        /// All counters.
        #[derive(Clone, Debug)]
        pub struct Counters([u64; NAMES.len()]);

        impl Default for Counters {
            fn default() -> Counters {
                Counters([0; NAMES.len()])
            }
        }

        impl Counters {
            /// Count one.
            #[inline(always)]
            pub fn add(&mut self, e: Event) {
                self.0[e as usize] += 1;
            }
            /// Count several.
            #[inline(always)]
            pub fn add_many(&mut self, e: Event, n: u64) {
                self.0[e as usize] += n;
            }
            /// The value of one.
            pub fn get(&self, e: Event) -> u64 {
                self.0[e as usize]
            }
            /// Names and values.
            pub fn all(&self) -> $crate::Drops {
                NAMES.iter().copied().zip(self.0).collect()
            }
        }
    };
}

pub(crate) use events;
