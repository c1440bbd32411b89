//! The declaration of a table and its keys, and the macro for it.

use crate::default::Default;
use crate::kind::{Shape, ValueKind};
use crate::section::{Section, Sections};

/// The declaration of a key: one row of the reference page.
pub struct Key {
    pub name: &'static str,
    /// Help, perhaps with a space in front.
    pub help: &'static str,
    pub default: Default,
    pub shape: fn() -> Shape,
}

impl Key {
    pub fn help(&self) -> &'static str {
        self.help.trim()
    }
}

/// A table, or a group of keys, that [`crate::table!`] declares.
pub trait Table: Sized {
    fn about() -> &'static str;
    /// Its keys, those of its groups included, in the order of the reference page.
    fn keys() -> Vec<&'static Key>;
    /// Reads it; faults go to the section. None where a value is missing or refused and has no default.
    fn read(section: &mut Section<'_>) -> Option<Self>;
}

impl Sections<'_> {
    /// Reads the table at a path, with defaults if absent.
    pub fn table<T: Table>(&mut self, path: &str) -> Option<T> {
        T::read(&mut self.section(path))
    }
}

/// Checks that a kind has the type of its field.
#[doc(hidden)]
pub fn shape_of<T, K: ValueKind<Out = T>>(kind: &K) -> Shape {
    kind.shape()
}

/// Declares a table as a struct: each field with help, type, key, kind and default; `with` names groups of keys of the
/// same table.
///
/// ```
/// key::table! {
///     /// Test frames.
///     pub struct Traffic {
///         /// Time to live of test frames.
///         ttl: u8 = "ttl", key::kind::number(2..=255), key::or("10");
///     }
/// }
/// ```
#[macro_export]
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $Name:ident {
            $(
                $(#[doc = $help:literal])+
                $field:ident: $Type:ty = $key:literal, $kind:expr, $default:expr;
            )*
        }
        $( with { $( $(#[doc = $group_help:literal])+ $group:ident: $Group:ty; )+ } )?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $Name {
            $( $(#[doc = $help])+ pub $field: $Type, )*
            $( $( $(#[doc = $group_help])+ pub $group: $Group, )+ )?
        }

        impl $crate::Table for $Name {
            fn about() -> &'static str {
                concat!($($about),+).trim()
            }

            #[allow(unused_mut, reason = "a table without groups")]
            fn keys() -> Vec<&'static $crate::Key> {
                static OWN: &[$crate::Key] = &[$(
                    $crate::Key {
                        name: $key,
                        help: concat!($($help),+),
                        default: $default,
                        shape: || $crate::declare::shape_of::<$Type, _>(&$kind),
                    },
                )*];
                let mut keys: Vec<_> = OWN.iter().collect();
                $( $( keys.extend(<$Group as $crate::Table>::keys()); )+ )?
                keys
            }

            #[allow(unused_variables, clippy::let_unit_value, reason = "a table without keys")]
            fn read(section: &mut $crate::Section<'_>) -> Option<Self> {
                // All are read before a refused one ends it.
                let values = ( $( section.get::<$Type, _>($key, &$kind, $default), )* );
                let groups = ( $( $( <$Group as $crate::Table>::read(section), )+ )? );
                let ( $( $field, )* ) = values;
                let ( $( $( $group, )+ )? ) = groups;
                Some($Name { $( $field: $field?, )* $( $( $group: $group?, )+ )? })
            }
        }
    };
}
