//! Says what happened when the stack of a thread overflows, or a thread aborts the process.

use std::sync::Once;

use super::panics::{last_words, say};
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
            for (signal, previous) in [
                (libc::SIGSEGV, &raw mut SEGV),
                (libc::SIGBUS, &raw mut BUS),
                (libc::SIGABRT, &raw mut ABRT),
            ] {
                libc::sigaction(signal, &raw const action, previous);
            }
        }
    });
}

static mut SEGV: libc::sigaction = EMPTY;
static mut BUS: libc::sigaction = EMPTY;
static mut ABRT: libc::sigaction = EMPTY;
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
    {
        let name = || state.name_of(thread);
        if signal == libc::SIGABRT {
            say(|| last_words(&state, &format!("{} aborts the process", name())));
        } else if state.thread(thread).guard.contains(&address) {
            say(|| {
                format!(
                    "raddle: {} has overflowed its stack; `Checker::stack_size` makes it larger\n{}",
                    name(),
                    state.describe_schedule()
                )
            });
            std::process::abort();
        }
    }
    // SAFETY: what was there before is put back, and gets the signal again: when the access is repeated, or, since `abort` raises it once only before it
    // resets the handler, because it is raised here. It is held back until this handler returns.
    unsafe {
        let previous = match signal {
            libc::SIGSEGV => &raw const SEGV,
            libc::SIGBUS => &raw const BUS,
            _ => &raw const ABRT,
        };
        libc::sigaction(signal, previous, std::ptr::null_mut());
        if signal == libc::SIGABRT {
            libc::raise(signal);
        }
    }
}
