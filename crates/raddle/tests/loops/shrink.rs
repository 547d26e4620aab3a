//! Smaller programs that still show the same.

use crate::syntax::{Inside, Op, Program, Statement};

/// A program that cannot be made smaller in a simple way without `fails` being no longer true.
pub(crate) fn shrink(mut program: Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    'again: loop {
        for smaller in smaller(&program) {
            if fails(&smaller) {
                program = smaller;
                continue 'again;
            }
        }
        return program;
    }
}

fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for thread in (1..program.threads.len()).rev() {
        if !names_threads_from(program, thread) {
            let mut one = program.clone();
            one.threads.remove(thread);
            all.push(one);
        }
    }
    for thread in 0..program.threads.len() {
        for body in smaller_bodies(&program.threads[thread]) {
            let mut one = program.clone();
            one.threads[thread] = body;
            all.push(one);
        }
    }
    let simpler = [
        Program {
            spurious: 0,
            ..program.clone()
        },
        Program {
            mutexes: [Inside::Plain; _],
            ..program.clone()
        },
        Program {
            heap: false,
            ..program.clone()
        },
        Program {
            touched: false,
            ..program.clone()
        },
    ];
    all.extend(simpler.into_iter().filter(|one| one != program));
    all
}

fn names_threads_from(program: &Program, least: usize) -> bool {
    let mut found = false;
    for statement in program.threads.iter().flatten() {
        statement.visit(&mut |statement| {
            if let Statement::Do(op, ..) = statement {
                found |= match *op {
                    Op::Unpark(thread) => thread >= least,
                    Op::IsFinished(_) => true,
                    _ => false,
                };
            }
        });
    }
    found
}

fn smaller_bodies(body: &[Statement]) -> Vec<Vec<Statement>> {
    let mut all = Vec::new();
    // Halves first: most of a long program can go at once.
    if body.len() > 3 {
        all.push(body[..body.len() / 2].to_vec());
        all.push(body[body.len() / 2..].to_vec());
    }
    for index in (0..body.len()).rev() {
        let mut with = |replacement: &[Statement]| {
            let mut one = body[..index].to_vec();
            one.extend_from_slice(replacement);
            one.extend_from_slice(&body[index + 1..]);
            all.push(one);
        };
        with(&[]);
        match &body[index] {
            Statement::If(test, one, other) => {
                with(one);
                with(other);
                for smaller in smaller_bodies(one) {
                    with(&[Statement::If(*test, smaller, other.clone())]);
                }
                for smaller in smaller_bodies(other) {
                    with(&[Statement::If(*test, one.clone(), smaller)]);
                }
            }
            Statement::Loop(inner) => {
                for smaller in smaller_bodies(inner) {
                    with(&[Statement::Loop(smaller)]);
                }
            }
            Statement::BlockOn(inner, site) => {
                for smaller in smaller_bodies(inner) {
                    with(&[Statement::BlockOn(smaller, *site)]);
                }
            }
            Statement::Count(register, most) if *most > 2 => {
                with(&[Statement::Count(*register, most - 1)]);
            }
            _ => {}
        }
    }
    all
}
