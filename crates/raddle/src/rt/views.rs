//! Objects that stand for memory of the code under test.
//!
//! An atomic of this crate is larger than its value, so memory cannot be taken for one. What `from_ptr` gives is an object beside the
//! memory, one for each address and type, which the execution keeps.

use std::alloc::{Layout, dealloc};
use std::collections::HashMap;

use super::state::State;

/// What can stand for memory.
///
/// # Safety
///
/// It has no destructor, and its layout depends on nothing but its name: pointers to what differs in parameters only can be cast.
pub(crate) unsafe trait View: Sized {}

/// The objects of an execution that stand for memory.
#[derive(Default)]
pub(crate) struct Views {
    /// The last one for each address and name of a type.
    last: HashMap<(usize, &'static str), *mut ()>,
    all: Vec<Allocated>,
}

struct Allocated(*mut (), Layout);

impl Drop for Allocated {
    fn drop(&mut self) {
        // SAFETY: it comes from a box of something with this layout, which needs no destructor.
        unsafe { dealloc(self.0.cast(), self.1) };
    }
}

impl State {
    /// What stands for the memory at an address: what did before if that is `current`, or something new.
    pub(crate) fn view<T: View>(
        &mut self,
        address: usize,
        name: &'static str,
        make: impl FnOnce() -> T,
        current: impl FnOnce(&Self, &T) -> bool,
    ) -> *const T {
        if let Some(&view) = self.views.last.get(&(address, name)) {
            let view = view.cast_const().cast::<T>();
            // SAFETY: it was made for this name, and is kept until the next execution.
            if current(self, unsafe { &*view }) {
                return view;
            }
        }
        const { assert!(size_of::<T>() > 0) };
        let view = Box::into_raw(Box::new(make())).cast::<()>();
        self.views.all.push(Allocated(view, Layout::new::<T>()));
        self.views.last.insert((address, name), view);
        view.cast_const().cast()
    }
}
