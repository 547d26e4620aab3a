use crate::program::{Op::*, Program};
use raddle_schedule::explorers::{Dfs, Optimal};
use raddle_schedule::{Explorer, Trace, class_of};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

fn dump(program: &Program, optimal: bool) -> Vec<(u128, String)> {
    let log = Arc::new(Mutex::new((false, Vec::new())));
    let body = {
        let (log, program) = (log.clone(), program.clone());
        move || crate::real::run(&program, &log)
    };
    let mut options = raddle::Options::default();
    options.spurious_wakeups = program.spurious;
    options.weak_failures = program.weak;
    options.leaks = false;
    options.spin_limit = 30;
    let mut p = raddle::Program::new(Arc::new(body), &options);
    loop {
        let mut out = Vec::new();
        let mut learned = false;
        let mut ended = |p: &mut raddle::Program, trace: &Trace| {
            let class = class_of(trace).0;
            let mut text = String::new();
            for (i, e) in trace.events().iter().enumerate() {
                let acc: Vec<String> = trace
                    .accesses(i)
                    .map(|a| format!("{}{:?}{}>{}", a.location.0, a.mode, a.before, a.after))
                    .collect();
                text += &format!(
                    "   T{}.{} c{} {}\n",
                    e.thread().0,
                    e.number,
                    e.step.choice,
                    acc.join(" ")
                );
            }
            let failure = p.finish();
            text += &format!(
                "   {:?} {:?}\n",
                failure.map(|f| f.kind),
                log.lock().unwrap()
            );
            if p.learned() {
                learned = true;
                return ControlFlow::Break(());
            }
            out.push((class, text));
            ControlFlow::Continue(())
        };
        if optimal {
            Optimal::default().explore(&mut p, &mut ended).unwrap();
        } else {
            Dfs { bound: None }.explore(&mut p, &mut ended).unwrap();
        }
        if !learned {
            return out;
        }
    }
}

#[test]
#[ignore]
fn debug() {
    let which: u32 = std::env::var("WHICH").unwrap().parse().unwrap();
    let program = match which {
        0 => Program::new([
            &[],
            &[DropArc(1), CasWeak(0, 1, 2)],
            &[Lock(0), TryUnwrap(1)],
        ])
        .weak(),
        1 => Program::new([&[Count(1)], &[DropArc(1)], &[Write(1)], &[Write(1)]]),
        2 => Program::new([
            &[Unpark(2), ParkTimeout],
            &[Unpark(0)],
            &[Unpark(1), ParkTimeout],
        ]),
        _ => Program::new([
            &[Write(1)],
            &[Load(0), TryWrite(0)],
            &[Swap(0, 2)],
            &[TryRead(0), Read(1), Load(0)],
        ]),
    };
    let optimal = dump(&program, true);
    let dfs: BTreeMap<u128, String> = dump(&program, false).into_iter().collect();
    let mut seen: BTreeMap<u128, String> = BTreeMap::new();
    for (class, text) in &optimal {
        if let Some(before) = seen.insert(*class, text.clone()) {
            println!("TWICE\n{before}and\n{text}");
        }
    }
    println!(
        "optimal {} executions {} classes, dfs {}",
        optimal.len(),
        seen.len(),
        dfs.len()
    );
    for (class, text) in &dfs {
        if !seen.contains_key(class) {
            println!("MISSING\n{text}");
        }
    }
    if std::env::var("ALL").is_ok() {
        for (_, text) in &optimal {
            println!("RUN\n{text}");
        }
    }
}
