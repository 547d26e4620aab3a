//! Says what happened when the stack of a thread overflows, which ends the process.

use std::sync::Once;

use super::program::running_thread;

/// Sets up the handler, once; what it has no part in it leaves to the one before it.
pub(super) fn install_handler() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: the handler only reads the address of the fault, and what it calls that is not made for signal
        // handlers it calls when the process is lost anyway.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            for (signal, previous) in [(libc::SIGSEGV, &raw mut SEGV), (libc::SIGBUS, &raw mut BUS)]
            {
                libc::sigaction(signal, &raw const action, previous);
            }
        }
    });
}

static mut SEGV: libc::sigaction = EMPTY;
static mut BUS: libc::sigaction = EMPTY;
// SAFETY: all zeros is a valid `sigaction`.
const EMPTY: libc::sigaction = unsafe { std::mem::zeroed() };

extern "C" fn handler(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the system gives a valid description of the signal.
    let address = unsafe { (*info).si_addr() }.addr();
    if let Some((runtime, thread)) = running_thread()
        && let Ok(state) = runtime.state.try_borrow()
        && state.thread(thread).guard.contains(&address)
    {
        eprintln!(
            "raddle: {} has overflowed its stack; `Checker::stack_size` makes it larger\n{}",
            state.name_of(thread),
            state.describe_schedule()
        );
        std::process::abort();
    }
    // SAFETY: what was there before is put back, and gets the signal again when the access is repeated.
    unsafe {
        let previous = if signal == libc::SIGSEGV {
            &raw const SEGV
        } else {
            &raw const BUS
        };
        libc::sigaction(signal, previous, std::ptr::null_mut());
    }
}
