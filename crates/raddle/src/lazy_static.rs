//! `lazy_static!`, as the crate of that name has it.

/// Declares statics that are made when they are first used, in each execution again.
///
/// ```
/// raddle::lazy_static! {
///     static ref NAMES: Vec<String> = vec!["a".into()];
/// }
///
/// raddle::check(|| assert_eq!(NAMES.len(), 1));
/// ```
#[macro_export]
macro_rules! lazy_static {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static ref $name:ident: $type:ty = $value:expr; $($rest:tt)*) => {
        $(#[$attribute])*
        #[allow(missing_copy_implementations, non_camel_case_types, dead_code)]
        $visibility struct $name {
            private: (),
        }
        $(#[$attribute])*
        $visibility static $name: $name = $name { private: () };

        impl ::std::ops::Deref for $name {
            type Target = $type;

            #[track_caller]
            fn deref(&self) -> &$type {
                static LAZY: $crate::sync::LazyLock<$type> = $crate::sync::LazyLock::new(|| $value);
                $crate::sync::LazyLock::force(&LAZY)
            }
        }

        $crate::lazy_static!($($rest)*);
    };
}
