//! `lib::sync::atomic`.

use std::fmt::{Debug, Pointer};

use super::lib::sync::atomic::{
    ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT, AtomicBool, AtomicI8, AtomicI16,
    AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    AtomicUsize, Ordering, compiler_fence, fence, spin_loop_hint,
};
use super::{Seen, is_shared, see};

const ORDER: Ordering = Ordering::SeqCst;

macro_rules! common {
    ($seen:expr, $atomic:ty, $type:ty, $values:expr) => {{
        let [a, b, c]: [$type; 3] = $values;
        is_shared::<$atomic>();
        const _: fn($type) -> $atomic = <$atomic>::new;
        let _: fn(&mut $atomic) -> &mut $type = <$atomic>::get_mut;
        let _: fn($atomic) -> $type = <$atomic>::into_inner;
        let _: fn(&$atomic, Ordering) -> $type = <$atomic>::load;
        let _: fn(&$atomic, $type, Ordering) = <$atomic>::store;
        let _: fn(&$atomic, $type, Ordering) -> $type = <$atomic>::swap;
        let _: fn(&$atomic, $type, $type, Ordering) -> $type = <$atomic>::compare_and_swap;
        type Exchange = fn(&$atomic, $type, $type, Ordering, Ordering) -> Result<$type, $type>;
        let _: Exchange = <$atomic>::compare_exchange;
        let _: Exchange = <$atomic>::compare_exchange_weak;
        let _: unsafe fn(*mut $type) -> &'static $atomic = <$atomic>::from_ptr;
        const _: fn(&$atomic) -> *mut $type = <$atomic>::as_ptr;
        fn is_debug<T: Debug + Default + From<$type>>() {}
        is_debug::<$atomic>();

        let mut atomic = <$atomic>::new(a);
        see!($seen, atomic.load(ORDER) == a);
        atomic.store(b, ORDER);
        see!($seen, atomic.swap(c, ORDER) == b);
        see!($seen, atomic.compare_exchange(c, a, ORDER, ORDER) == Ok(c));
        see!($seen, atomic.compare_exchange(c, a, ORDER, ORDER) == Err(a));
        see!($seen, atomic.compare_exchange_weak(b, a, ORDER, ORDER) == Err(a));
        see!($seen, atomic.compare_and_swap(a, b, ORDER) == a);
        see!($seen, atomic.compare_and_swap(a, c, ORDER) == b);
        see!($seen, atomic.update(ORDER, ORDER, |old| if old == b { c } else { a }) == b);
        see!($seen, atomic.try_update(ORDER, ORDER, |_| Some(a)) == Ok(c));
        see!($seen, atomic.try_update(ORDER, ORDER, |_| None) == Err(a));
        see!($seen, atomic.fetch_update(ORDER, ORDER, |old| (old == a).then_some(b)) == Ok(a));
        *atomic.get_mut() = c;
        see!($seen, atomic.load(ORDER) == c);
        see!($seen, atomic.into_inner() == c);
        let mut value = a;
        let pointer: *mut $type = &mut value;
        // SAFETY: the memory is alive, and used by other means only after the last use of the atomic.
        let atomic = unsafe { <$atomic>::from_ptr(pointer) };
        see!($seen, atomic.load(ORDER) == a);
        atomic.store(b, ORDER);
        // SAFETY: the same.
        see!($seen, unsafe { <$atomic>::from_ptr(pointer) }.load(ORDER) == b);
        see!($seen, atomic.compare_exchange(b, c, ORDER, ORDER) == Ok(b));
        see!($seen, value == c);
        value = a;
        // SAFETY: the same.
        see!($seen, unsafe { <$atomic>::from_ptr(pointer) }.load(ORDER) == a);
        see!($seen, value == a);
    }};
}

macro_rules! integer {
    ($seen:expr, $($atomic:ty, $type:ty;)*) => {
        $({
            common!($seen, $atomic, $type, [3, 5, <$type>::MAX]);
            type Fetch = fn(&$atomic, $type, Ordering) -> $type;
            let fetches: [Fetch; 8] = [
                <$atomic>::fetch_add, <$atomic>::fetch_sub, <$atomic>::fetch_and, <$atomic>::fetch_nand,
                <$atomic>::fetch_or, <$atomic>::fetch_xor, <$atomic>::fetch_max, <$atomic>::fetch_min,
            ];
            for fetch in fetches {
                for (old, operand) in [(5, 3), (<$type>::MIN, 1), (<$type>::MAX, 6)] {
                    let atomic = <$atomic>::from(old);
                    see!($seen, fetch(&atomic, operand, ORDER), atomic);
                    let mut value = old;
                    let pointer: *mut $type = &mut value;
                    // SAFETY: the memory is alive and not used otherwise.
                    let atomic = unsafe { <$atomic>::from_ptr(pointer) };
                    see!($seen, fetch(atomic, operand, ORDER));
                    see!($seen, value);
                }
            }
            see!($seen, <$atomic>::default());
        })*
    };
}

pub(super) fn run(seen: &mut Seen) {
    integer! { seen,
        AtomicU8, u8; AtomicU16, u16; AtomicU32, u32; AtomicU64, u64; AtomicUsize, usize;
        AtomicI8, i8; AtomicI16, i16; AtomicI32, i32; AtomicI64, i64; AtomicIsize, isize;
    }
    common!(seen, AtomicBool, bool, [false, true, false]);
    let atomic = AtomicBool::new(true);
    see!(
        seen,
        atomic.fetch_and(true, ORDER),
        atomic.fetch_nand(true, ORDER),
        atomic.fetch_or(true, ORDER),
        atomic.fetch_xor(false, ORDER),
        atomic.fetch_not(ORDER),
        atomic,
        ATOMIC_BOOL_INIT,
        ATOMIC_ISIZE_INIT,
        ATOMIC_USIZE_INIT,
    );
    fence(Ordering::SeqCst);
    compiler_fence(Ordering::SeqCst);
    let _: fn() = spin_loop_hint;
    pointers(seen);
}

fn pointers(seen: &mut Seen) {
    let mut values = [10_u32, 20, 30, 40];
    let first: *mut u32 = values.as_mut_ptr();
    let at = |index: usize| first.wrapping_add(index);
    common!(seen, AtomicPtr<u32>, *mut u32, [at(0), at(1), at(2)]);
    fn is_pointer<T: Pointer>() {}
    is_pointer::<AtomicPtr<u32>>();
    let atomic = AtomicPtr::new(first);
    see!(
        seen,
        atomic.fetch_ptr_add(2, ORDER) == at(0),
        atomic.fetch_ptr_sub(1, ORDER) == at(2),
        atomic.fetch_byte_add(8, ORDER) == at(1),
        atomic.fetch_byte_sub(4, ORDER) == at(3),
        atomic.load(ORDER) == at(2),
        atomic.fetch_or(1, ORDER) == at(2),
        atomic.fetch_xor(3, ORDER).addr() - first.addr(),
        atomic.fetch_and(!3, ORDER).addr() - first.addr(),
        atomic.load(ORDER) == at(2),
    );
    // SAFETY: it is one of the values.
    see!(seen, unsafe { *atomic.load(ORDER) });
}
