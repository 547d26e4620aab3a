//! Which programs are measured, how large, and what is known about them.

/// A program of one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) program: &'static str,
    pub(crate) size: &'static [usize],
    /// How many happens-before classes it has, if there is a formula for that.
    pub(crate) classes: Option<u64>,
    pub(crate) has_bug: bool,
}

impl Case {
    /// `3 2`.
    pub(crate) fn size_text(&self) -> String {
        let numbers: Vec<_> = self.size.iter().map(ToString::to_string).collect();
        numbers.join(" ")
    }
}

/// What a program is, and what its size means.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    (
        "mutex",
        "`n` threads, each of which increments a counter under a mutex `k` times: (nk)! / k!ⁿ classes",
    ),
    (
        "rwlock",
        "`r` readers and `w` writers of an `RwLock`, once each: w! (w+1)ʳ classes",
    ),
    (
        "philosophers",
        "`n` dining philosophers who take the fork with the lower number first and have `k` meals: \
         for one meal 2ⁿ-2 classes (two for two philosophers)",
    ),
    (
        "disjoint",
        "`n` threads, each of which writes `k` atomics of its own and then a common one: n! classes",
    ),
    (
        "stack",
        "Treiber's stack: `n` threads, each of which pushes and pops `k` times",
    ),
    (
        "deque",
        "the deque of Chase and Lev: its owner pushes and takes `k` items, `n` thieves try to steal one",
    ),
    (
        "queue",
        "Vyukov's bounded queue, with room for two: `p` producers, `c` consumers, one item each",
    ),
    (
        "lost-update",
        "`n` threads increment an atomic by reading and then writing it",
    ),
    (
        "stack-aba",
        "Treiber's stack without a count of changes: one thread pops, one pops twice and pushes, `n` others pop and push",
    ),
    (
        "deque-no-cas",
        "the deque, whose owner does not compete for the last item",
    ),
    (
        "deadlock",
        "`n` philosophers, each of whom takes the left fork first",
    ),
];

fn factorial(n: usize) -> u64 {
    (1..=n as u64).product()
}

/// How many classes a program has, if there is a formula.
fn classes(program: &str, size: &[usize]) -> Option<u64> {
    match (program, size) {
        ("mutex", &[threads, rounds]) => {
            let repeated = factorial(rounds).pow(u32::try_from(threads).ok()?);
            Some(factorial(threads * rounds) / repeated)
        }
        ("rwlock", &[readers, writers]) => {
            let places = (writers as u64 + 1).pow(u32::try_from(readers).ok()?);
            Some(factorial(writers) * places)
        }
        ("philosophers", [2, 1]) => Some(2),
        ("philosophers", &[seats, 1]) => Some((1 << seats) - 2),
        ("disjoint", &[threads, _]) => Some(factorial(threads)),
        _ => None,
    }
}

/// All cases. Loom has room for five threads, of which the main thread is one.
pub(crate) fn cases() -> Vec<Case> {
    let sizes: &[(&str, &[&[usize]])] = &[
        ("mutex", &[&[2, 2], &[3, 2], &[4, 1], &[3, 3], &[4, 2]]),
        ("rwlock", &[&[2, 1], &[1, 2], &[2, 2], &[3, 1], &[1, 3]]),
        ("philosophers", &[&[2, 1], &[3, 1], &[4, 1], &[3, 2]]),
        ("disjoint", &[&[2, 4], &[3, 4], &[4, 2], &[4, 8]]),
        ("stack", &[&[2, 1], &[2, 2], &[3, 1]]),
        ("deque", &[&[1, 1], &[2, 1], &[2, 2], &[3, 2]]),
        ("queue", &[&[1, 1], &[2, 1], &[2, 2]]),
        ("lost-update", &[&[2], &[3], &[4]]),
        ("stack-aba", &[&[0], &[1]]),
        ("deque-no-cas", &[&[1, 1], &[2, 1], &[2, 2], &[3, 2]]),
        ("deadlock", &[&[2], &[3], &[4]]),
    ];
    let buggy = ["lost-update", "stack-aba", "deque-no-cas", "deadlock"];
    let mut cases = Vec::new();
    for &(program, sizes) in sizes {
        cases.extend(sizes.iter().map(|size| Case {
            program,
            size,
            classes: classes(program, size),
            has_bug: buggy.contains(&program),
        }));
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_give_the_known_numbers() {
        let known: &[(&str, &[usize], u64)] = &[
            ("mutex", &[2, 2], 6),
            ("mutex", &[3, 2], 90),
            ("mutex", &[4, 2], 2520),
            ("rwlock", &[2, 1], 4),
            ("rwlock", &[1, 2], 6),
            ("rwlock", &[2, 2], 18),
            ("philosophers", &[2, 1], 2),
            ("philosophers", &[3, 1], 6),
            ("philosophers", &[4, 1], 14),
            ("disjoint", &[4, 8], 24),
        ];
        for &(program, size, number) in known {
            assert_eq!(classes(program, size), Some(number), "{program} {size:?}");
        }
    }
}
