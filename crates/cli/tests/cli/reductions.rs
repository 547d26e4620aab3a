//! `--reduction`: what `auto` chooses, what can be chosen, and what is said about it.

use crate::support::{Said, raddle, raddle_reading};

/// Two threads that lock two mutexes in opposite order.
const CIRCLE: &str = "mutex a; mutex b;
    void x() { lock(a); lock(b); unlock(b); unlock(a); }
    void y() { lock(b); lock(a); unlock(a); unlock(b); }
    run x() || y();";
/// A thread waits for another one, without a deadlock.
const WAITS: &str = "mutex m; bool ready;
void waiter() { await(ready); }
void other() { ready = true; }
run waiter() || other();";
/// Nobody waits for anything.
const FREE: &str = "mutex m; int x; void w() { x = 1; } run w()[2];";

fn check(options: &[&str], program: &str) -> Said {
    raddle_reading(&[&["check", "-"], options].concat(), program)
}

#[test]
fn without_deadlocks_and_races_transactions_are_enough() {
    check(&["--property", "assertion"], WAITS).exits(0).says(&[
        "(transactions, bfs)",
        "auto: transactions, because neither deadlocks nor races are asked for",
    ]);
}

#[test]
fn without_locks_there_is_little_to_tell_transactions_by() {
    let without_locks = "int x; void w() { x = 1; } run w()[2];";
    check(&[], without_locks).exits(0).says(&[
        "(cartesian, bfs)",
        "auto: cartesian, because there are no locks to tell transactions by",
    ]);
}

/// Where a reduction was chosen by hand, its states are those that other tools and papers count.
#[test]
fn interchangeable_threads_are_told() {
    let program = "void f() { yield; yield; yield; } void g() { yield; } run f()[5] || g();";
    let told = "f[0], f[1], f[2], f[3] and f[4] are interchangeable";
    let cases: [(Vec<&str>, &str, bool); 4] = [
        (vec!["--reduction", "full"], "2,048 states", false),
        (
            vec!["--reduction", "full", "--symmetry", "on"],
            "112 states",
            true,
        ),
        (
            vec!["--property", "termination", "--symmetry", "on"],
            "2,048 states",
            false,
        ),
        (
            vec![
                "--search",
                "switches",
                "--reduction",
                "full",
                "--symmetry",
                "on",
            ],
            "2,048 states",
            false,
        ),
    ];
    for (args, states, is_told) in cases {
        let said = check(&args, program).exits(0).says(&[states]);
        assert_eq!(said.stdout.contains(told), is_told, "{args:?}");
    }
    check(&[], program).exits(0).says(&[told]);
    let said = check(&["--symmetry", "off"], program).exits(0);
    assert!(!said.stdout.contains(told));
    check(&["--explore", "dfs", "--symmetry", "on"], program).exits(2);
}

/// Nobody counts what several workers pass by: then there would be one.
#[test]
fn statistics_do_not_take_workers_away() {
    let program = "mutex m; int x; void f() { lock(m); x++; unlock(m); } run f()[3];";
    for reduction in ["full", "cartesian", "transactions", "optimistic"] {
        let workers = |count| {
            check(
                &["--stats", "--reduction", reduction, "--workers", count],
                program,
            )
            .exits(0)
        };
        workers("1").says(&["workers                 1"]);
        workers("2").says(&[
            "workers                 2",
            "visited states          not counted",
        ]);
    }
}

/// Large enough that a reduction is tried out first, and the search begins again.
#[test]
fn a_reduction_that_leaves_out_hardly_anything_makes_way() {
    let racing = "int counter;
        void count() { for (int i = 0; i < 6; i++) counter++; }
        run count()[3];";
    check(&["--symmetry", "off"], racing).exits(0).says(&[
        "verified: 540,512 states, 1,497,117 transitions",
        "auto: full, because no reduction would leave out enough",
    ]);
    let mostly_apart = "int counter; int sums[4];
        void count() {
            for (int i = 0; i < 5; i++) {
                counter++;
                sums[tid] = sums[tid] + i;
                sums[tid] = sums[tid] + 1;
                sums[tid] = sums[tid] + 1;
            }
        }
        run count()[3];";
    check(&[], mostly_apart).exits(0).says(&[
        "verified: 223,561 states, 2,110,627 transitions",
        "auto: cartesian, because there are no locks to tell transactions by",
    ]);
}

/// More states than a trial has, but few enough for the full search, which is the fastest per step.
#[test]
fn a_program_that_is_small_is_searched_in_full() {
    let racing = "int counter;
        void count() { for (int i = 0; i < 4; i++) counter++; }
        run count()[3];";
    check(&["--symmetry", "off"], racing).exits(0).says(&[
        "verified: 42,237 states, 110,595 transitions",
        "auto: full, because it came to the end first",
    ]);
}

/// A limit that another search meets while it is tried is none of the planned one.
#[test]
fn what_is_tried_takes_nothing_from_the_plan() {
    let mostly_apart = "int counter; int sums[4];
        void count() {
            for (int i = 0; i < 4; i++) {
                counter++;
                sums[tid] = sums[tid] + i;
                sums[tid] = sums[tid] + 1;
                sums[tid] = sums[tid] + 1;
            }
        }
        run count()[3];";
    // The full search needs more than that, and is tried first.
    check(&["--max-memory", "500K"], mostly_apart)
        .exits(0)
        .says(&["verified: 42,237 states", "(optimistic, bfs)"]);
    let more = mostly_apart.replace("i < 4", "i < 40");
    check(&["--timeout", "300ms"], &more)
        .exits(3)
        .says(&["inconclusive", "the limit on time"]);
}

/// How little is left does not show at the start: semaphores come and go in pairs.
#[test]
fn a_reduction_that_comes_to_the_end_is_not_left_out() {
    let philosophers = "const int N = 8;
        semaphore forks[N] = {1, 1, 1, 1, 1, 1, 1, 1};
        semaphore room = 7;
        void philosopher(int me) {
            while (true) {
                down(room); down(forks[me]); down(forks[(me + 1) % N]);
                up(forks[(me + 1) % N]); up(forks[me]); up(room);
            }
        }
        run philosopher(tid)[N];";
    check(&[], philosophers).exits(0).says(&[
        "(optimistic, bfs)",
        "auto: optimistic, because it came to the end first",
    ]);
}

#[test]
fn races_need_a_reduction_that_preserves_them() {
    let said = check(&["--property", "all"], FREE).exits(1);
    assert!(!said.stdout.contains("(transactions"), "{}", said.stdout);
    said.says(&["data race", "auto: ", ", because races are asked for"]);
}

#[test]
fn deadlocks_can_be_excluded() {
    let said = check(&[], FREE).exits(0).says(&[
        "(transactions, bfs)",
        "  auto: transactions; deadlock excluded by the lock order",
    ]);
    assert!(!said.stdout.contains("everything else"));
    let report = check(&["--format", "json"], FREE).exits(0).json();
    assert_eq!(report["runs"].as_array().unwrap().len(), 1);
    let properties = report["properties"].as_array().unwrap();
    assert!(properties.contains(&"deadlock".into()));
}

#[test]
fn deadlocks_are_looked_for_if_they_are_possible() {
    check(&[], WAITS).exits(0).says(&[
        "verified: ",
        "  auto: transactions; deadlock checked by ",
        ", because threads wait for more than locks (<stdin>:2)",
        "\n  deadlock: verified, ",
    ]);
    let report = check(&["--format", "json", "--stats"], WAITS)
        .exits(0)
        .json();
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0]["reduction"], "transactions");
    assert_eq!(runs[1]["properties"], serde_json::json!(["deadlock"]));
    assert_eq!(runs[1]["verdict"], "verified");
    for field in ["states", "transitions", "visited_states", "rounds"] {
        assert!(runs[0][field].as_u64() > Some(0), "{field}");
    }
    for field in ["states", "transitions", "seconds", "depth"] {
        assert_eq!(report[field], runs[0][field], "{field}");
    }
}

#[test]
fn a_deadlock_is_found_and_decides() {
    check(&[], CIRCLE).exits(1).says(&[
        "error: deadlock: 2 threads",
        "\nviolation: ",
        "auto: transactions; deadlock checked by ",
        "\n  everything else: verified, ",
    ]);
    let report = check(&["--format", "json"], CIRCLE).exits(1).json();
    assert_ne!(report["reduction"], "transactions");
    assert_eq!(report["reduction"], report["runs"][1]["reduction"]);
    assert_eq!(report["states"], report["runs"][1]["states"]);
    assert_eq!(report["runs"][0]["verdict"], "verified");
}

#[test]
fn all_violations_are_of_both_searches() {
    let program = "mutex m; int x;
        void a() { lock(m); lock(m); }
        void b() { assert(x == 1); }
        run a() || b();";
    let said = check(&[], program).exits(1);
    said.says(&[
        "assertion failed",
        "not looked for, because there is another",
    ]);
    // Once the thread has failed, the other one may wait for it.
    let program = program.replace("assert(x == 1)", "if (*) assert(x == 1)");
    let said = check(&["--all"], &program).exits(1);
    said.says(&["assertion failed", "deadlock: ", "2 violations: "]);
}

#[test]
fn a_goal_does_not_hide_a_deadlock() {
    let program = "mutex m; void main() { lock(m); lock(m); reach(\"the end\"); }";
    let said = check(&[], program).exits(1).says(&["error: deadlock"]);
    assert!(!said.stdout.contains("the end\""), "{}", said.stdout);
    check(&["--all"], program).exits(1).says(&[
        "error: deadlock",
        "no execution reaches",
        "2 violations",
    ]);
}

#[test]
fn a_limited_depth_limits_both_searches() {
    let program = "mutex m; int x;
        void w() { while (true) x++; }
        void a() { lock(m); lock(m); }
        run w() || a();";
    // The counter never ends, and somebody can always move: there is no deadlock.
    let said = check(&["--max-depth", "20"], program).exits(3);
    said.says(&[
        "the limit on depth was reached",
        "\n  deadlock: inconclusive, ",
    ]);
    let said = check(&["--max-states", "20"], program).exits(3);
    said.says(&["deadlock not looked for, because the search was cut"]);
}

#[test]
fn transactions_say_what_they_do_not_preserve() {
    let transactions = ["--reduction", "transactions"];
    check(&transactions, FREE)
        .exits(0)
        .says(&["deadlocks are not preserved by transactions, but excluded by the lock order"]);
    // Deadlocks are asked for by default, so the verdict is about them too.
    check(&transactions, WAITS).exits(3).says(&[
        "inconclusive: ",
        "deadlocks are not preserved by transactions: there may be one, because\n",
        "\n    threads wait for more than locks (<stdin>:2)\n",
        "\n  to find out: --reduction auto, or --property deadlock\n",
    ]);
    let json = [&transactions[..], &["--format", "json"]].concat();
    let report = check(&json, WAITS).exits(3).json();
    assert_eq!(report["verdict"], "inconclusive");
    assert_eq!(
        report["reason"],
        "the reduction does not preserve what was asked for: deadlock"
    );
    assert_eq!(report["possible_deadlocks"][0]["kind"], "wait");
    assert_eq!(report["possible_deadlocks"][0]["places"][0]["line"], 2);
    let properties = report["properties"].as_array().unwrap();
    assert!(!properties.contains(&"deadlock".into()), "{report}");
    // Whoever narrows the question gets an answer to that.
    let narrowed = [&transactions[..], &["--property", "assertion,goal"]].concat();
    check(&narrowed, WAITS).exits(0).says(&["verified: "]);
    // A comparison says the same, row by row.
    let arguments = [
        "compare",
        "-",
        "--reduction",
        "full,transactions",
        "--format",
        "json",
    ];
    let report = raddle_reading(&arguments, WAITS).exits(0).json();
    let rows = &report["files"][0]["rows"];
    assert_eq!(rows[0]["verdict"], "verified");
    assert_eq!(rows[1]["verdict"], "inconclusive");
    assert_eq!(
        rows[1]["reason"],
        "the reduction does not preserve what was asked for: deadlock"
    );
    let arguments = ["compare", "-", "--reduction", "full,transactions"];
    raddle_reading(&arguments, WAITS)
        .exits(0)
        .says(&["inconclusive; deadlock not checked"]);
}

#[test]
fn what_is_not_preserved_cannot_be_asked_for() {
    for property in ["deadlock", "race", "all"] {
        let said = check(
            &["--reduction", "transactions", "--property", property],
            FREE,
        );
        said.exits(2)
            .complains(&["does not preserve: ", "these do: full, optimistic"]);
    }
}

#[test]
fn completions_are_an_option_of_transactions() {
    for completion in ["scc", "cycle", "cpc", "cpc-l19"] {
        let name = match completion {
            "scc" => "transactions".to_owned(),
            other => format!("transactions-{other}"),
        };
        let said = check(
            &["--reduction", "transactions", "--completion", completion],
            FREE,
        );
        said.exits(0).says(&[&format!("({name}, bfs)")]);
        let said = check(&["--reduction", &name], FREE).exits(0);
        said.says(&[&format!("({name}, bfs)")]);
    }
    for unsound in [
        &["--reduction", "transactions-none"][..],
        &["--reduction", "transactions", "--completion", "none"],
    ] {
        check(unsound, FREE)
            .exits(2)
            .complains(&["unsound", "raddle compare"]);
    }
    for other in ["full", "auto"] {
        check(&["--reduction", other, "--completion", "scc"], FREE)
            .exits(2)
            .complains(&["an option of `--reduction transactions`"]);
    }
}

#[test]
fn cycle_tests_are_an_option_of_cartesian_reduction() {
    for (test, name) in [("letter", "cartesian"), ("paper", "cartesian-paper")] {
        let said = check(&["--reduction", "cartesian", "--cycle-test", test], FREE);
        said.exits(0).says(&[&format!("({name}, bfs)")]);
    }
    check(&["--reduction", "full", "--cycle-test", "paper"], FREE)
        .exits(2)
        .complains(&["an option of `--reduction cartesian`"]);
}

#[test]
fn several_workers_find_the_same() {
    let program = "corpus/classics/bakery-2.rad";
    for reduction in ["full", "cartesian", "transactions", "optimistic", "auto"] {
        let states = |workers| {
            let check = ["check", program, "--reduction", reduction];
            let options = ["--workers", workers, "--format", "json"];
            let report = raddle(&[&check[..], &options].concat()).exits(0).json();
            (report["states"].clone(), report["unreached"].clone())
        };
        assert_eq!(states("1"), states("3"), "{reduction}");
    }
    for bad in ["0", "x", "100000"] {
        check(&["--workers", bad], FREE)
            .exits(2)
            .complains(&["a number from 1 to 1024"]);
    }
}

#[test]
fn a_circle_of_locks_is_shown() {
    check(&["--reduction", "transactions"], CIRCLE)
        .exits(3)
        .says(&[
            "there may be one, because\n    locks are taken in a circle:\n",
            "b while a is held (<stdin>:2)\n",
            "a while b is held (<stdin>:3)\n",
        ]);
}

#[test]
fn statistics_are_about_every_search() {
    let numbers = [
        "visited states",
        "interior states",
        "forced ends",
        "endless threads",
        "rounds",
    ];
    let said = check(&["--stats"], WAITS).exits(0).says(&numbers);
    said.says(&["transactions (everything else):", "(deadlock):"]);
    let one = check(&["--stats", "--reduction", "full"], WAITS).exits(0);
    one.says(&numbers).says(&["interior states         0\n"]);
    let json = ["--format", "json", "--reduction", "full"];
    let report = check(&json, WAITS).json();
    assert!(report["statistics"]["visited_states"].is_null());
    let report = check(&[&json[..], &["--stats"]].concat(), WAITS).json();
    assert_eq!(report["statistics"]["visited_states"], report["states"]);
    assert_eq!(report["statistics"]["interior_states"], 0);
    assert_eq!(report["statistics"]["rounds"], 1);
}

#[test]
fn auto_agrees_with_the_full_search_on_the_whole_corpus() {
    for program in crate::support::programs() {
        let exit = |reduction| {
            let limits = ["--timeout", "60s", "--quiet"];
            let check = ["check", &program, "--reduction", reduction];
            raddle(&[&check[..], &limits].concat()).code
        };
        assert_eq!(exit("auto"), exit("full"), "{program}");
    }
}

#[test]
fn the_fewest_switches_are_those_of_all_schedules() {
    // Cartesian reduction runs each thread up to its next conflict, and switches there.
    let program = "int a, b, c;
        void one() { a = 1; b = 1; c = 1; }
        void two() { int r = a; int s = b; int t = c; assert(!(r == 1 && s == 1 && t == 0)); }
        run one() || two();";
    let switches = |reduction: &str| {
        let options = [
            "--search",
            "switches",
            "--reduction",
            reduction,
            "--format",
            "json",
        ];
        let arguments = [&["check", "-"], &options[..]].concat();
        let report = raddle_reading(&arguments, program).exits(1).json();
        report["violations"][0]["switches"].as_u64().unwrap()
    };
    let fewest = switches("full");
    for reduction in ["auto", "cartesian", "optimistic", "transactions"] {
        assert_eq!(switches(reduction), fewest, "{reduction}");
    }
}
