//! Methods of [`plane::Function`] for functions that exist for a test or a benchmark alone.

/// The methods of a function without counters that has nothing to adopt.
#[macro_export]
macro_rules! nothing_to_adopt {
    ($name:ty) => {
        fn counters(&self) -> plane::Drops {
            plane::Drops::default()
        }
        fn can_adopt(&self, _: &$name) -> Result<(), String> {
            Ok(())
        }
        fn adopt(&mut self, _: &mut $name) -> Result<(), String> {
            Ok(())
        }
    };
}
