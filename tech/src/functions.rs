//! The functions of a gateway, one a worker, whatever their type. An enum and not a trait object: a function is generic over
//! the packets that it gets, and the hot loop is compiled for each.

use plane::Function;

/// What is done with the functions of a gateway, whatever their type.
pub trait Use {
    /// What comes of it.
    type Out;
    /// Do it.
    fn with<F: Function + 'static>(self, functions: Vec<F>) -> Self::Out;
}

/// The list of technologies: a module each, its entry in `ALL`, and the types of its functions.
macro_rules! technologies {
    ($( $file:ident: $( $Variant:ident($Type:ty) ),+; )+) => {
        $( mod $file; )+

        /// All technologies that ship.
        pub const ALL: &[&Entry] = &[$( &$file::ENTRY ),+];

        /// The functions of a gateway, one a worker.
        #[allow(missing_docs, reason = "one variant a type of function, of the same name")]
        pub enum Functions {
            $( $( $Variant(Vec<$Type>), )+ )+
        }

        impl Functions {
            /// Hands them to what runs them.
            pub fn hand_to<U: Use>(self, to: U) -> U::Out {
                match self {
                    $( $( Functions::$Variant(functions) => to.with(functions), )+ )+
                }
            }
        }
    };
}
pub(crate) use technologies;
