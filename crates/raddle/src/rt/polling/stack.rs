//! The local state of a thread that polls, as far as it is on its stack and in its registers.
//!
//! Two iterations may make the same operations and find the same values while the loop counts, or takes its turns. So a scout
//! also compares what the thread's stack contains when it arrives: if that repeats with a period, the local state does so with the same one, but for what
//! is on the heap. What was left behind on the stack by calls that have returned may differ where the local state does not; then no period
//! is found, and only operations, locations and values are compared.
//!
//! Nothing else depends on these numbers. They contain addresses, and are compared within one execution only.

use crate::rt::{self, Place, operation::Operation};

/// The current thread says that it polls.
///
/// Inlined, and calling nothing that leaves a trace on the stack before [`arrive`], so that what is compared is the code under test.
#[inline(always)]
pub(crate) fn poll_at(place: Place) {
    let Some(base) = rt::arrives() else {
        return;
    };
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `base` is 0, or the address of a variable of a function that has called this one.
    unsafe {
        arrive(place, base);
    }
    #[cfg(not(target_arch = "x86_64"))]
    arrived(place, base & 0);
}

/// Computes a fingerprint of the registers that a function has to leave as they are, and of the stack from here up to `base`, unless that is 0;
/// and continues as [`arrived`].
///
/// This is done by a naked function because nothing else sees the registers as the caller has left them, and because a byte of the stack
/// that has no value for the compiler has one for the processor.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "sysv64-unwind" fn arrive(place: Place, base: usize) {
    std::arch::naked_asm!(
        "xor eax, eax",
        "test rsi, rsi",
        "jz 5f",
        "movabs r11, 0x9e3779b97f4a7c15",
        "mov rax, rbx",
        "imul rax, r11",
        "rol rax, 23",
        "xor rax, rbp",
        "imul rax, r11",
        "rol rax, 23",
        "xor rax, r12",
        "imul rax, r11",
        "rol rax, 23",
        "xor rax, r13",
        "imul rax, r11",
        "rol rax, 23",
        "xor rax, r14",
        "imul rax, r11",
        "rol rax, 23",
        "xor rax, r15",
        // Four words at once, each with its own part of the fingerprint: one multiplication need not wait for the other.
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r10d, r10d",
        "mov rcx, rsp",
        "lea rdx, [rsi - 24]",
        "2:",
        "cmp rcx, rdx",
        "jae 3f",
        "imul rax, r11",
        "imul r8, r11",
        "imul r9, r11",
        "imul r10, r11",
        "rol rax, 23",
        "rol r8, 23",
        "rol r9, 23",
        "rol r10, 23",
        "xor rax, [rcx]",
        "xor r8, [rcx + 8]",
        "xor r9, [rcx + 16]",
        "xor r10, [rcx + 24]",
        "add rcx, 32",
        "jmp 2b",
        // What is left, and then the parts.
        "3:",
        "cmp rcx, rsi",
        "jae 4f",
        "imul rax, r11",
        "rol rax, 23",
        "xor rax, [rcx]",
        "add rcx, 8",
        "jmp 3b",
        "4:",
        "imul rax, r11",
        "rol rax, 23",
        "xor rax, r8",
        "imul rax, r11",
        "rol rax, 23",
        "xor rax, r9",
        "imul rax, r11",
        "rol rax, 23",
        "xor rax, r10",
        "5:",
        "mov rsi, rax",
        "jmp {arrived}",
        arrived = sym arrived,
    )
}

/// The current thread has arrived at a place, with this fingerprint of its stack.
#[cfg_attr(target_arch = "x86_64", allow(improper_ctypes_definitions))]
extern "sysv64-unwind" fn arrived(place: Place, stack: usize) {
    if rt::with(|state| state.poll(place, stack as u64)) {
        rt::perform_at(place, |_| Ok(Operation::Resume));
    }
}

/// Overwrites what earlier calls have left on the stack below the caller's frame.
#[inline(never)]
pub(crate) fn scrub() {
    std::hint::black_box(&mut [0u64; 512]);
}
