//! What goes with [`lazy_static!`](crate::lazy_static!).

/// Declares statics that are made when they are first used, in each execution again, and that are gone when the main
/// thread has ended: another thread that uses one then panics.
///
/// ```
/// loom::lazy_static! {
///     static ref NAMES: Vec<String> = vec!["a".into()];
/// }
///
/// loom::model(|| assert_eq!(NAMES.len(), 1));
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
                static LAZY: $crate::lazy_static::LazyLock<$type> =
                    $crate::lazy_static::LazyLock::new(|| $value);
                $crate::lazy_static::assert_main_runs();
                $crate::lazy_static::LazyLock::force(&LAZY)
            }
        }

        $crate::lazy_static!($($rest)*);
    };
}

pub use raddle::thread::AccessError;

#[doc(hidden)]
pub use raddle::sync::LazyLock;

/// # Panics
///
/// If the main thread has ended.
#[doc(hidden)]
#[track_caller]
pub fn assert_main_runs() {
    assert!(
        !raddle::thread::main_has_ended(),
        "attempted to access lazy_static during shutdown"
    );
}
