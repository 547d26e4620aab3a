//! Checks each structure with the orderings that it needs, and with one of them weaker.

use raddle::{Assumed, Checker, FailureKind, Memory};
use raddle_examples::orderings::{PROGRAMS, Program, Verdict};

fn program(name: &str) -> &'static Program {
    let mut programs = PROGRAMS.iter();
    programs.find(|program| program.name == name).unwrap()
}

/// The structure passes, with this many executions under RC11 and under sequential consistency; with a weaker ordering comes of it what is expected.
#[track_caller]
fn check(name: &str, executions: [u64; 2]) {
    let program = program(name);
    let of = |memory| {
        let orders = program.orders();
        let check = Checker::new().memory(memory).explorer("graphs");
        let report = check.check(move || (program.run)(&orders));
        assert!(report.exhausted, "{:?}", report.assumptions);
        if memory == Memory::Rc11 {
            let justified = [Assumed::SuspendedLoop, Assumed::LoadBuffering];
            let mut assumed = report.assumptions.iter();
            assert!(
                assumed.all(|one| justified.contains(&one.kind)),
                "{:?}",
                report.assumptions
            );
        }
        report.executions
    };
    assert_eq!([Memory::Rc11, Memory::Sc].map(of), executions, "{name}");
    for weakened in program.weakened() {
        let orders = weakened.orders(program);
        let found = Checker::new().run(move || (program.run)(&orders));
        let site = weakened.site.name;
        let what = format!("{name}: {site}, {:?}", weakened.order);
        let found = match found {
            Ok(report) => {
                assert!(report.exhausted, "{what}: {:?}", report.assumptions);
                None
            }
            Err(failed) => Some(failed.failure.kind),
        };
        let expected = match weakened.verdict {
            Verdict::Race => Some(FailureKind::DataRace),
            Verdict::Wrong => Some(FailureKind::Panic),
            Verdict::Stuck => Some(FailureKind::LiveLock),
            Verdict::Harmless(_) => None,
        };
        assert_eq!(found, expected, "{what}");
    }
}

macro_rules! structures {
    ($($test:ident $name:literal $rc11:literal $sc:literal;)*) => {
        $(
            #[test]
            fn $test() {
                check($name, [$rc11, $sc]);
            }
        )*

        #[test]
        fn all_are_checked() {
            let known = [$($name),*];
            let names: Vec<_> = PROGRAMS.iter().map(|program| program.name).collect();
            assert_eq!(names, known);
        }
    };
}

structures! {
    spinlock "spinlock" 78 78;
    ticket_lock "ticket-lock" 6 6;
    mcs_lock "mcs-lock" 6 6;
    linux_rwlock "linux-rwlock" 39 39;
    peterson "peterson-fences" 54 54;
    dekker "dekker-fences" 104 91;
    flags "flags-seq-cst" 3 3;
    seqlock "seqlock" 551 469;
    barrier "barrier" 4 4;
    once "once" 75 75;
    references "references" 4 4;
    ring "ring" 9 9;
    bounded_queue "bounded-queue" 232 192;
    michael_scott "michael-scott" 124 124;
    treiber "treiber" 44 44;
    chase_lev "chase-lev" 164 164;
    hazard_pointers "hazard-pointers" 194 177;
}
