//! Types that files or reports have as text.

/// Writes a type as its `Display` text and reads it by `FromStr`.
#[macro_export]
macro_rules! as_text {
    ($Type:ty) => {
        impl ::serde::Serialize for $Type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $Type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as ::serde::Deserialize>::deserialize(deserializer)?.parse().map_err(::serde::de::Error::custom)
            }
        }
    };
}

/// An enumeration whose values stand beside their words: `enum Name: function { Value = "word", }`. Its `ALL` has the values in
/// order, and the function returns the words.
#[macro_export]
macro_rules! worded {
    ($(#[$of_type:meta])* $vis:vis enum $Type:ident: $words:ident { $($(#[$of_value:meta])* $Value:ident = $text:literal,)* }) => {
        $(#[$of_type])*
        $vis enum $Type { $($(#[$of_value])* $Value,)* }

        #[allow(dead_code, reason = "some lists of values have no reader")]
        impl $Type {
            /// All values, in order.
            $vis const ALL: [$Type; [$($text),*].len()] = [$($Type::$Value),*];

            /// Returns the value in words.
            $vis fn $words(self) -> &'static str {
                match self {
                    $($Type::$Value => $text,)*
                }
            }
        }
    };
}
