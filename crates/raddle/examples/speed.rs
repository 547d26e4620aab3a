//! Executions per second.
use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;
use std::sync::Arc;
fn time(name: &str, explorer: &str, f: impl Fn() + Send + Sync + 'static) {
    let t = cpu();
    let r = raddle::Checker::new()
        .explorer(explorer)
        .max_duration(std::time::Duration::from_secs(3))
        .check(f);
    let s = cpu() - t;
    println!(
        "{name:24} {explorer:10} {:8} executions {:8.3} s {:10.0}/s complete {}",
        r.executions,
        s,
        r.executions as f64 / s,
        r.complete
    );
}
fn cpu() -> f64 {
    std::fs::read_to_string("/proc/self/schedstat")
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse::<f64>()
        .unwrap()
        / 1e9
}
fn locks(n: usize, k: usize) -> impl Fn() + Send + Sync + 'static {
    move || {
        let m = Arc::new(Mutex::new(0));
        let ts: Vec<_> = (0..n)
            .map(|_| {
                let m = m.clone();
                thread::spawn(move || {
                    for _ in 0..k {
                        *m.lock().unwrap() += 1;
                    }
                })
            })
            .collect();
        for t in ts {
            t.join().unwrap();
        }
        assert_eq!(*m.lock().unwrap(), n * k);
    }
}
fn adds(n: usize, k: usize) -> impl Fn() + Send + Sync + 'static {
    move || {
        let m = Arc::new(AtomicUsize::new(0));
        let ts: Vec<_> = (0..n)
            .map(|_| {
                let m = m.clone();
                thread::spawn(move || {
                    for _ in 0..k {
                        m.fetch_add(1, SeqCst);
                    }
                })
            })
            .collect();
        for t in ts {
            t.join().unwrap();
        }
        assert_eq!(m.load(SeqCst), n * k);
    }
}
fn main() {
    let es: Vec<String> = std::env::args().skip(1).collect();
    if es == ["big"] {
        time("adds 4x3", "optimal", adds(4, 3));
        time("locks 4x2", "optimal", locks(4, 2));
        return;
    }
    for e in es.iter().map(String::as_str) {
        time("locks 4x1", e, locks(4, 1));
        time("locks 2x4", e, locks(2, 4));
        time("locks 3x2", e, locks(3, 2));
        time("locks 3x3", e, locks(3, 3));
        time("adds 3x3", e, adds(3, 3));
        time("adds 4x2", e, adds(4, 2));
    }
}
