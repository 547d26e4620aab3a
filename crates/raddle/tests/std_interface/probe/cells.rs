//! `lib::cell` and `lib::hint`.

use super::lib::cell::{
    BorrowError, BorrowMutError, Cell, LazyCell, OnceCell, Ref, RefCell, RefMut, UnsafeCell,
};
use super::lib::hint;
use super::{Seen, is_debug, is_default, is_error, is_send, is_unpin, see};

pub(super) fn run(seen: &mut Seen) {
    is_send::<Cell<u32>>();
    is_unpin::<Cell<u32>>();
    is_debug::<Cell<u32>>();
    is_default::<Cell<u32>>();
    is_send::<UnsafeCell<u32>>();
    is_debug::<UnsafeCell<u32>>();
    is_default::<UnsafeCell<u32>>();
    is_error::<BorrowError>();
    is_error::<BorrowMutError>();
    const CELL: Cell<u32> = Cell::new(1);
    let mut cell = CELL;
    let other = Cell::from(2);
    cell.swap(&other);
    see!(seen, cell.get(), other.replace(5), other.take(), other);
    cell.set(4);
    cell.update(|value| value + 1);
    see!(
        seen,
        cell.clone(),
        cell == Cell::new(5),
        cell < Cell::new(6)
    );
    see!(seen, cell.cmp(&Cell::new(4)));
    *cell.get_mut() += 1;
    let _: fn(&Cell<u32>) -> *mut u32 = Cell::as_ptr;
    see!(seen, cell.into_inner());
    const UNSAFE: UnsafeCell<u32> = UnsafeCell::new(1);
    let mut cell = UNSAFE;
    *cell.get_mut() += 1;
    // SAFETY: nobody else has the value.
    see!(seen, unsafe { *cell.get() });
    see!(seen, cell.into_inner(), UnsafeCell::from(7).into_inner());
    let once = OnceCell::new();
    see!(seen, once.set(3), once.get_or_init(|| 4));
    let lazy = LazyCell::new(|| 5);
    see!(seen, *lazy);
    let shared = RefCell::new(6);
    let (one, two): (Ref<'_, i32>, Ref<'_, i32>) = (shared.borrow(), shared.borrow());
    see!(seen, *one + *two);
    drop((one, two));
    let mut change: RefMut<'_, i32> = shared.borrow_mut();
    *change += 1;
    see!(seen, change);
    hint::spin_loop();
    hint::cold_path();
    // SAFETY: it is true.
    unsafe { hint::assert_unchecked(seen.len() > 1) };
    let _: unsafe fn() -> ! = hint::unreachable_unchecked;
    see!(
        seen,
        hint::black_box(8),
        hint::select_unpredictable(true, 1, 2)
    );
}
