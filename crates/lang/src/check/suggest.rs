//! "Did you mean ...?"

/// What a name of C, C++ or Java is called here.
pub(super) fn translated(name: &str) -> Option<&'static str> {
    Some(match name {
        "NULL" | "nullptr" | "nil" | "None" => "null",
        "TRUE" | "True" => "true",
        "FALSE" | "False" => "false",
        "self" | "thread_id" | "pthread_self" => "tid",
        "pthread_mutex_lock" | "mtx_lock" => "lock(m)",
        "pthread_mutex_unlock" | "mtx_unlock" => "unlock(m)",
        "pthread_mutex_trylock" | "mtx_trylock" => "try_lock(m)",
        "pthread_cond_wait" | "cnd_wait" => "wait(c, m)",
        "pthread_cond_signal" | "cnd_signal" | "notify_one" => "notify(c)",
        "pthread_cond_broadcast" | "cnd_broadcast" | "notifyAll" => "notify_all(c)",
        "pthread_create" | "thrd_create" | "fork" => "spawn f()",
        "pthread_join" | "thrd_join" => "join(t)",
        "pthread_yield" | "sched_yield" => "yield",
        "sem_wait" | "P" => "down(s)",
        "sem_post" | "V" => "up(s)",
        "malloc" | "calloc" => "new T",
        "compare_exchange" | "atomic_compare_exchange_strong" => "cas(x, old, new)",
        "atomic_fetch_add" => "fetch_add(x, d)",
        "atomic_load" => "load(x)",
        "atomic_store" => "store(x, v)",
        _ => return None,
    })
}

/// With more names than this to choose from, or for longer ones, nothing is suggested:
/// comparing takes time, and no program that a person writes is like that.
const MOST_CANDIDATES: usize = 2_000;
const LONGEST: usize = 64;

/// The candidate nearest to a misspelt name, if one is near enough to be meant.
pub(super) fn nearest<'c>(
    name: &str,
    candidates: impl Iterator<Item = &'c str>,
) -> Option<&'c str> {
    // Every other name of a letter or two is near, and none of them is meant.
    let limit = match name.chars().count() {
        length @ 3..=LONGEST => length / 3,
        _ => return None,
    };
    let candidates: Vec<&str> = candidates.take(MOST_CANDIDATES + 1).collect();
    if candidates.len() > MOST_CANDIDATES {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate, limit), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *candidate != name)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The number of insertions, deletions, replacements and swaps of neighbours between two
/// names, or something above `limit` if it is more than that.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            let mut least = replaced.min(row[j] + 1).min(last[j + 1] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let names = ["balance", "amount", "x"];
        assert_eq!(nearest("balanse", names.into_iter()), Some("balance"));
        assert_eq!(nearest("blance", names.into_iter()), Some("balance"));
        assert_eq!(nearest("amuont", names.into_iter()), Some("amount"));
        assert_eq!(nearest("total", names.into_iter()), None);
    }

    #[test]
    fn of_very_many_or_very_long_names_none_is_suggested() {
        let many = std::iter::repeat_n("balance", MOST_CANDIDATES + 1);
        assert_eq!(nearest("balanse", many), None);
        let (long, near) = ("x".repeat(200), "x".repeat(199));
        assert_eq!(nearest(&long, [near.as_str()].into_iter()), None);
    }
}
