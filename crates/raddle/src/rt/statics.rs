//! Objects in static memory.
//!
//! A static outlives executions, but each has to find it new. So what stands in static memory is only
//! the pattern: at its first use in an execution its bits are copied, and the copy is what is used. (It was
//! made by a constant expression and is never used itself, so it owns nothing that the copy would own too.)

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use super::hash::Table;
use super::objects::Id;
use super::state::{Phase, State};

/// The static memory of the program and of its libraries.
fn ranges() -> &'static [Range<usize>] {
    static RANGES: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    RANGES.get_or_init(writable_segments)
}

/// Whether something is in the static memory of the program or of a library.
fn is_static(address: usize) -> bool {
    ranges().iter().any(|range| range.contains(&address))
}

/// Whether it is known what is static. Where it is not, statics are used as they are, and are refused when a second
/// execution uses them: see [`stale`].
pub(super) fn are_known() -> bool {
    !ranges().is_empty()
}

/// What to say of an object that was used in another execution.
pub(super) fn stale(object: &str, statics_are_known: bool) -> String {
    let remedy = if statics_are_known {
        "create it inside the closure that is checked, so that each execution has its own"
    } else {
        "on this platform it is not known where statics are, so they cannot be reset for each execution; create \
         the object inside the closure that is checked"
    };
    format!("raddle: this {object} was used in an earlier execution already; {remedy}")
}

/// What can be written of the static memory. Cells are never in the rest.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn writable_segments() -> Vec<Range<usize>> {
    unsafe extern "C" fn add(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        ranges: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader gives a description that is valid during the call, and `ranges` is what was
        // handed to it below.
        unsafe {
            let info = &*info;
            let ranges = &mut *ranges.cast::<Vec<Range<usize>>>();
            for index in 0..usize::from(info.dlpi_phnum) {
                let header = &*info.dlpi_phdr.add(index);
                if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0 {
                    let start = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
                    ranges.push(start..start.wrapping_add(header.p_memsz as usize));
                }
            }
        }
        0
    }
    let mut ranges = Vec::<Range<usize>>::new();
    // SAFETY: `add` is called with the pointer that is given here, and only during this call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut ranges).cast()) };
    ranges
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn writable_segments() -> Vec<Range<usize>> {
    Vec::new()
}

/// The copies of statics of an execution.
#[derive(Default)]
pub(crate) struct Copies {
    by_address: Table<usize, *mut u8>,
    /// In the order in which they were made.
    drops: Vec<Box<dyn FnOnce()>>,
}

impl Copies {
    pub(crate) fn are_some(&self) -> bool {
        !self.drops.is_empty()
    }
}

/// An object that may be a static.
///
/// # Safety
///
/// An implementor's bits can be copied as long as the original is not used afterwards.
pub(crate) unsafe trait Home {
    /// What tells whether it was used.
    fn id(&self) -> &Id;
}

/// The object that is to be used where `object` is named: itself, or the copy of a static.
#[track_caller]
pub(crate) fn home<T: Home + ?Sized>(object: &T) -> &T {
    // Only an object that was never used can be a static: the copies are what is used.
    if !object.id().is_new() {
        return object;
    }
    let address = std::ptr::from_ref(object).addr();
    if !is_static(address) {
        return object;
    }
    let Some(runtime) = super::try_current() else {
        return object;
    };
    let copy = runtime.state.borrow_mut().copy_of_static(object, address);
    let mut pointer: *const T = object;
    // SAFETY: the address is the first part of every pointer; what may come after it (a length, a table of
    // methods) is the same for the copy. The copy is kept until the execution is over, and so are all references
    // to a static that code of the execution has, but for those that it leaks.
    unsafe {
        *(&raw mut pointer).cast::<*const u8>() = copy;
        &*pointer
    }
}

impl State {
    fn copy_of_static<T: ?Sized>(&mut self, object: &T, address: usize) -> *mut u8 {
        if let Some(&copy) = self.copies.by_address.get(&address) {
            return copy;
        }
        let layout = Layout::for_value(object);
        let copy = if layout.size() == 0 {
            std::ptr::without_provenance_mut(layout.align())
        } else {
            // SAFETY: the size is not 0.
            let copy = unsafe { alloc(layout) };
            if copy.is_null() {
                handle_alloc_error(layout);
            }
            // SAFETY: both are as large as the layout says, and the new one is not the old one.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    std::ptr::from_ref(object).cast::<u8>(),
                    copy,
                    layout.size(),
                );
            }
            copy
        };
        self.copies.by_address.insert(address, copy);
        let mut pointer: *const T = object;
        // SAFETY: see `home`.
        unsafe { *(&raw mut pointer).cast::<*const u8>() = copy };
        let drop_it = move || {
            // SAFETY: this is called once, when the execution is over and nothing else uses the copy.
            unsafe {
                std::ptr::drop_in_place(pointer.cast_mut());
                if layout.size() != 0 {
                    dealloc(copy, layout);
                }
            }
        };
        let drop_it: Box<dyn FnOnce() + '_> = Box::new(drop_it);
        // SAFETY: what is in static memory has a type that lives as long.
        let drop_it =
            unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Box<dyn FnOnce()>>(drop_it) };
        self.copies.drops.push(drop_it);
        copy
    }
}

impl super::Runtime {
    /// Drops the copies of statics, the last first. Returns whether no destructor panicked.
    pub(crate) fn drop_statics(&self) -> bool {
        let mut panicked = false;
        loop {
            let next = {
                let mut state = self.state.borrow_mut();
                debug_assert!(state.phase != Phase::Running);
                state.copies.by_address.clear();
                state.copies.drops.pop()
            };
            match next {
                Some(drop_it) => panicked |= catch_unwind(AssertUnwindSafe(drop_it)).is_err(),
                None => return !panicked,
            }
        }
    }

    /// Forgets the copies of statics without dropping them.
    pub(crate) fn leak_statics(&self) {
        let mut state = self.state.borrow_mut();
        state.copies.by_address.clear();
        for drop_it in state.copies.drops.drain(..) {
            std::mem::forget(drop_it);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statics_are_found_or_refused() {
        static OBJECT: std::sync::Mutex<u32> = std::sync::Mutex::new(0);
        let address = std::ptr::from_ref(&OBJECT).addr();
        assert_eq!(is_static(address), are_known());
        let on_the_heap = Box::new(0);
        assert!(!is_static(std::ptr::from_ref(&*on_the_heap).addr()));
        assert!(stale("mutex", false).contains("not known where statics are"));
        assert!(stale("mutex", true).contains("create it inside the closure"));
    }
}
