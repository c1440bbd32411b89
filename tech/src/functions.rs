//! The functions of a gateway, one per worker: an enum, because only callers of `boxed` know the packets.

/// For each technology a module, its entry in `ALL`, and the types of its functions.
macro_rules! technologies {
    ($( $file:ident: $( $Variant:ident($Type:ty) ),+; )+) => {
        $( mod $file; )+

        /// All technologies that ship.
        pub const ALL: &[&ListEntry] = &[$( &$file::ENTRY ),+];

        /// The functions of a gateway, one per worker.
        #[allow(missing_docs, reason = "one variant a type of function, of the same name")]
        pub enum Functions {
            $( $( $Variant(Vec<$Type>), )+ )+
        }

        impl Functions {
            /// Returns them as trait objects for packets of this type.
            pub fn boxed<P: plane::Packet>(self) -> Vec<plane::AnyFunction<P>> {
                match self {
                    $( $( Functions::$Variant(functions) => {
                        functions.into_iter().map(|function| Box::new(function) as plane::AnyFunction<P>).collect()
                    } )+ )+
                }
            }
        }
    };
}
pub(crate) use technologies;
