//! `lib::sync::{Arc, Weak}`.

use std::any::Any;
use std::borrow::{Borrow, Cow};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fmt::{Display, Pointer};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Wake, Waker};

use super::lib::sync::atomic::{AtomicU32, Ordering};
use super::lib::sync::{Arc, Weak};
use super::{Seen, is_debug, is_default, is_error, is_shared, is_unpin, see};

trait Shape {
    fn area(&self) -> u32;
}

struct Square(u32);

impl Shape for Square {
    fn area(&self) -> u32 {
        self.0 * self.0
    }
}

impl Square {
    /// With `std` alone, this could take `self: Arc<Self>`.
    fn consume(this: Arc<Self>) -> u32 {
        this.area()
    }
}

struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

pub(super) fn run(seen: &mut Seen) {
    is_shared::<Arc<u32>>();
    is_shared::<Weak<u32>>();
    is_unpin::<Arc<dyn Any>>();
    is_debug::<Arc<str>>();
    is_debug::<Weak<u32>>();
    is_error::<Arc<std::fmt::Error>>();
    counting(seen);
    unsized_contents(seen);
    conversions(seen);
    raw(seen);
    late(seen);
}

fn counting(seen: &mut Seen) {
    let mut one = Arc::new(1);
    see!(seen, Arc::strong_count(&one), Arc::weak_count(&one));
    let mut two = one.clone();
    let weak: Weak<i32> = Arc::downgrade(&one);
    see!(
        seen,
        Arc::strong_count(&one),
        Arc::weak_count(&one),
        weak.strong_count(),
        weak.weak_count(),
        Arc::ptr_eq(&one, &two),
        weak.ptr_eq(&weak.clone()),
        weak.as_ptr() == Arc::as_ptr(&one),
        weak.upgrade(),
        weak,
        Arc::get_mut(&mut one),
    );
    *Arc::make_mut(&mut two) += 4;
    see!(
        seen,
        one,
        two,
        Arc::try_unwrap(two),
        Arc::strong_count(&one)
    );
    see!(
        seen,
        Arc::into_inner(one.clone()),
        Arc::unwrap_or_clone(one.clone())
    );
    // Only weak references are left behind.
    *Arc::make_mut(&mut one) += 1;
    see!(seen, one, weak.upgrade(), Arc::into_inner(one));
    const NONE: Weak<u32> = Weak::new();
    see!(seen, NONE.upgrade(), Weak::<u32>::default().upgrade());
    let cyclic = Arc::new_cyclic(|weak: &Weak<u32>| u32::from(weak.upgrade().is_none()));
    see!(seen, cyclic);
    let pinned: Pin<Arc<u32>> = Arc::pin(7);
    see!(seen, pinned);
}

fn unsized_contents(seen: &mut Seen) {
    let shape: Arc<dyn Shape> = Arc::from(Box::new(Square(3)) as Box<dyn Shape>);
    see!(seen, shape.area(), Arc::strong_count(&shape));
    see!(seen, Square::consume(Arc::new(Square(4))));
    let mut list: Arc<[u32]> = (1..4).collect();
    let other = list.clone();
    Arc::make_mut(&mut list)[0] = 9;
    see!(seen, list, other);
    let array: Result<Arc<[u32; 3]>, _> = Arc::try_from(list);
    see!(seen, array);
    let array: Result<Arc<[u32; 2]>, _> = Arc::try_from(other);
    see!(seen, array);
    let any: Arc<dyn Any + Send + Sync> = Arc::from(Box::new(5_u32) as Box<dyn Any + Send + Sync>);
    let any = any.downcast::<u64>().expect_err("it is no u64");
    see!(seen, any.downcast::<u32>());
    let shown: Arc<dyn Display> = Arc::from(Box::new(6) as Box<dyn Display>);
    see!(seen, shown.to_string(), format!("{shown:>3}"));
}

fn conversions(seen: &mut Seen) {
    is_default::<Arc<[u32]>>();
    is_default::<Arc<str>>();
    is_default::<Arc<CStr>>();
    is_default::<Arc<u32>>();
    is_default::<Pin<Arc<u32>>>();
    fn is_pointer<T: Pointer>() {}
    is_pointer::<Arc<u32>>();
    let text = "text";
    see!(
        seen,
        Arc::<str>::from(text),
        Arc::<str>::from(String::from(text)),
        Arc::<str>::from(String::from(text).as_mut_str()),
        Arc::<str>::from(Cow::Borrowed(text)),
        Arc::<[u32]>::from(vec![1, 2]),
        Arc::<[u32]>::from([1, 2]),
        Arc::<[u32]>::from(&[1, 2][..]),
        Arc::<[u32]>::from(&mut [1, 2][..]),
        Arc::<u32>::from(5),
        Arc::<u32>::from(Box::new(5)),
        Arc::<Path>::from(Path::new(text)),
        Arc::<Path>::from(PathBuf::from(text)),
        Arc::<OsStr>::from(OsStr::new(text)),
        Arc::<OsStr>::from(OsString::from(text)),
        Arc::<CStr>::from(c"text"),
        Arc::<CStr>::from(CString::from(c"text")),
        Arc::<[u8]>::from(std::sync::Arc::<str>::from(text)),
        Arc::new(1) == Arc::new(1),
        Arc::new(1) < Arc::new(2),
        Arc::new(1).cmp(&Arc::new(2)),
        Arc::new(1).as_ref(),
        Borrow::<u32>::borrow(&Arc::new(1)),
    );
    let hashes = BuildHasherDefault::<DefaultHasher>::default();
    see!(seen, hashes.hash_one(Arc::new(1)) == hashes.hash_one(1));
    let count = Arc::new(Count(AtomicU32::new(0)));
    let waker = Waker::from(count.clone());
    waker.wake_by_ref();
    see!(
        seen,
        waker.will_wake(&waker.clone()),
        Arc::strong_count(&count)
    );
    waker.wake();
    see!(
        seen,
        count.0.load(Ordering::SeqCst),
        Arc::strong_count(&count)
    );
}

fn raw(seen: &mut Seen) {
    let pointer: *const u32 = Arc::into_raw(Arc::new(5));
    // SAFETY: the pointer was just made, and each reference is turned back once.
    unsafe {
        Arc::increment_strong_count(pointer);
        let one = Arc::from_raw(pointer);
        see!(seen, Arc::strong_count(&one), Arc::as_ptr(&one) == pointer);
        Arc::decrement_strong_count(pointer);
        let weak = Arc::downgrade(&one).into_raw();
        let weak = Weak::from_raw(weak);
        see!(seen, weak.upgrade(), Arc::weak_count(&one));
    }
}

fn late(seen: &mut Seen) {
    let mut one = Arc::<u32>::new_uninit();
    Arc::get_mut(&mut one).expect("nobody else has it").write(3);
    let mut list = Arc::<[u32]>::new_uninit_slice(2);
    for slot in Arc::get_mut(&mut list).expect("nobody else has it") {
        slot.write(4);
    }
    // SAFETY: all were written, or may be 0.
    unsafe {
        see!(
            seen,
            one.assume_init(),
            list.assume_init(),
            Arc::<u32>::new_zeroed().assume_init(),
            Arc::<[u32]>::new_zeroed_slice(2).assume_init(),
        );
    }
}
