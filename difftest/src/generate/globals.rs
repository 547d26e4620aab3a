//! The global variables of the random programs. Only those that are used get printed.

use super::Generator;
use super::threads::NOBODY;
use crate::syntax::make::{infix, int, name, prefix, word};
use crate::syntax::{Discipline, Expr, Global};

impl Generator {
    pub(super) fn globals(&mut self) -> Vec<Global> {
        let number = |generator: &mut Self| {
            let chance = generator.random.percent(25);
            chance.then(|| int(1 + generator.random.below(2) as i64))
        };
        let last = self
            .random
            .pick(&["int", "int", "atomic int", "int<0..3>", "u8"]);
        let pointer = match self.random.below(3) {
            0 => word("null"),
            1 => prefix("&", name("y")),
            _ => prefix("&", name("x")),
        };
        let tokens = int(self.random.below(3) as i64);
        let channel = self.random.pick(&["chan<int, 1>", "chan<int, 2>"]);
        let gate = int(self.random.pick(&[1, 1, 2]));
        // The second gives all of the first threads access as the owner changes.
        let mine = || infix(name("owner"), "==", word("tid"));
        let (turn, owner) = match self.random.below(7) {
            0 => (infix(word("tid"), "<=", name("owner")), None),
            1 => (mine(), Some(int(NOBODY))),
            2 => (mine(), Some(int(1))),
            // Others decide as well whose turn it is.
            3 => (infix(mine(), "&&", infix(name("x"), "!=", int(1))), None),
            // What is referred to, if anything is.
            4 => (infix(prefix("*", name("p")), "==", word("tid")), None),
            _ => (mine(), None),
        };
        vec![
            plain("int", "x").starting_at(number(self)),
            plain("int", "y").starting_at(number(self)),
            plain(last, "z").starting_at(number(self)),
            plain("int", "data").starting_at(number(self)),
            plain("bool", "flag"),
            plain("bool", "ready"),
            array("int", "cells", "[2]"),
            plain("Pair", "pair"),
            array("Pair", "pairs", "[2]"),
            plain("int*", "p").starting_at(Some(pointer)),
            plain("atomic int", "hits"),
            plain("Node*", "head"),
            plain("Box*", "top"),
            plain("Box", "whole"),
            plain("int*", "row"),
            plain("mutex", "m"),
            plain("mutex", "w"),
            plain("reentrant mutex", "rm"),
            array("mutex", "locks", "[2]"),
            plain("cond", "c"),
            plain("rwlock", "l"),
            plain("semaphore", "sem").starting_at(Some(tokens)),
            plain("semaphore", "gate").starting_at(Some(gate)),
            plain(channel, "ch"),
            plain("chan<(int, bool), 2>", "wide"),
            plain("chan<int>", "meet"),
            plain("int", "guarded").under(Discipline::GuardedBy("m")),
            array("int", "parts", "[2]").under(Discipline::GuardedByEach("locks")),
            array("int", "mine", "[4]").under(Discipline::ThreadLocal),
            array("Account", "accounts", "[2]"),
            plain("int", "owner").starting_at(owner),
            plain("int", "buffer").under(Discipline::Exclusive(turn)),
        ]
    }
}

fn plain(ty: &'static str, name: &'static str) -> Global {
    array(ty, name, "")
}

fn array(ty: &'static str, name: &'static str, dimension: &'static str) -> Global {
    Global {
        ty,
        name,
        dimension,
        discipline: None,
        initial: None,
    }
}

impl Global {
    fn starting_at(self, initial: Option<Expr>) -> Self {
        Self { initial, ..self }
    }

    fn under(self, discipline: Discipline) -> Self {
        let discipline = Some(discipline);
        Self { discipline, ..self }
    }
}
